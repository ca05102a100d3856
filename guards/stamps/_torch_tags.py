"""torch's own reading of a dict's version tag, which has to agree with ours.

Checked with torch 2.13.0 and 2.15.0.
"""

from __future__ import annotations

import sys

from torch._C._dynamo.guards import dict_version

from dynamo_lite.guards.stamps.layout import Layout, word
from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "stamps of guards"
"""What does not work if one of these is missing."""

SYMBOLS = (Symbol("torch._C._dynamo.guards:dict_version", "the version tags that a stamp reads are compared with it"),)


def agree(found: Layout) -> bool:
    """Whether torch sees the same tags. (On CPython 3.12 and later torch counts changes itself.)"""
    if sys.version_info >= (3, 12):
        return True
    values: dict[str, int] = {}
    for key in "abc":
        values[key] = 1
        if dict_version(values) != word(id(values) + found.version):
            return False
    return True
