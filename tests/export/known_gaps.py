"""Probes that do not get the right answer yet, each with its cause. A gap that closes must be taken off this list."""

from __future__ import annotations

KNOWN_GAPS: dict[str, str] = {}
