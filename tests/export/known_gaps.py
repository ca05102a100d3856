"""Probes that do not get the right answer yet, each with its cause. A gap that closes must be taken off this list."""

from __future__ import annotations

import sys

KNOWN_GAPS: dict[str, str] = {}
if sys.version_info >= (3, 13):
    KNOWN_GAPS["language_protocols.singledispatchmethod"] = "3.13 keeps the bound method in a cache on the descriptor"
