"""Whether two constants are one to the program: `==` takes True for 1, -0.0 for 0.0, and an object for its like."""

from __future__ import annotations

from typing import Any

import torch

_EXACT = frozenset({type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.layout,
                    torch.memory_format, type(...)})  # fmt: skip
"""Types whose values hold nothing beside; an object of a subclass may have attributes and methods of its own."""


def is_same(left: Any, right: Any) -> bool:
    """Whether the two are indistinguishable by any operation except `is` of numbers and strings.

    Two objects that are nan are not the same: a list finds one of them by its identity.
    """
    if left is right:
        return True
    kind = type(left)
    if kind is not type(right):
        return False
    if kind in (float, complex):
        return bool(left == right) and repr(left) == repr(right)
    if issubclass(kind, tuple):
        items = [*tuple.__iter__(left)], [*tuple.__iter__(right)]
        return not getattr(left, "__dict__", None) and not getattr(right, "__dict__", None) and are_same(*items)
    return kind in _EXACT and bool(left == right)


def are_same(left: list[Any], right: list[Any]) -> bool:
    """The same of two lists, item by item."""
    return len(left) == len(right) and all(map(is_same, left, right))
