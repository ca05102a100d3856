"""Probes that do not get the right answer yet, each with its cause. A gap that closes must be taken off this list."""

from __future__ import annotations

import sys

KNOWN_GAPS: dict[str, str] = {
    "modules.parametrization_cached": "the cache's dict, emptied at the end of the region, is taken for an effect",
}
if sys.version_info >= (3, 13):
    KNOWN_GAPS["language_protocols.singledispatchmethod"] = "3.13 keeps the bound method in a cache on the descriptor"
