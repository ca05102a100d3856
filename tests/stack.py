"""How deep this process can still recurse.

torch 2.13 leaves its frame hook (PEP 523) installed when a compiled call raises. From then on CPython 3.12 and later
count each Python call of the process against the C stack, whose limit no program can raise.
"""

from __future__ import annotations

import sys

import pytest


def needs_deep_stack(frames: int) -> None:
    """Skip the test if a chain of so many of CPython's calls is not to be had here."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, frames + 1000))
    try:
        deep = _reaches(frames)
    finally:
        sys.setrecursionlimit(before)
    if not deep:
        pytest.skip("torch left its frame hook installed in this process: CPython limits recursion by the C stack")


def _reaches(frames: int) -> bool:
    try:
        return frames == 0 or _reaches(frames - 1)
    except RecursionError:
        return False
