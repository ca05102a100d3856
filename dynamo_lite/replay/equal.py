"""Whether two values are equal in all that a program can observe, without running any `__eq__` of the user's."""

from __future__ import annotations

import collections
from typing import Any

import torch

from dynamo_lite.guards.values import is_atom, same_atom, same_set

_DEEP = 8
_SEQUENCES = (list, tuple, collections.deque)
_HEAP_TYPE = 1 << 9


def same(old: Any, new: Any, depth: int = _DEEP) -> bool:
    """Whether two values are equal: atoms, tensors of equal data, containers and objects of one type with equal parts.

    Values that cannot be compared are not the same.
    """
    if old is new:
        return True
    if type(old) is not type(new) or not depth:
        return False
    if is_atom(old) and is_atom(new):
        return same_atom(new, old)
    if isinstance(old, torch.Tensor):
        return _same_tensor(old, new)
    kind = type(old)
    if kind in _SEQUENCES:
        return len(old) == len(new) and all(same(a, b, depth - 1) for a, b in zip(old, new))
    if kind in (dict, collections.OrderedDict):
        rows = zip(old.items(), new.items())
        return len(old) == len(new) and all(_same_key(k, j) and same(a, b, depth - 1) for (k, a), (j, b) in rows)
    if kind in (set, frozenset):
        return same_set(new, old)
    if kind is bytearray:
        return bool(old == new)
    return _same_object(old, new, depth)


def _same_key(old: Any, new: Any) -> bool:
    return old is new or (is_atom(old) and is_atom(new) and same_atom(new, old))


def _same_tensor(old: torch.Tensor, new: torch.Tensor) -> bool:
    facts = [(t.dtype, t.shape, t.device, t.layout, t.requires_grad) for t in (old, new)]
    if facts[0] != facts[1] or old.layout is not torch.strided or old.device.type == "meta":
        return False
    return torch.equal(old, new) or torch.allclose(old, new, rtol=0, atol=0, equal_nan=True)


def _same_object(old: Any, new: Any, depth: int) -> bool:
    """Two instances of a plain Python class: no slots, no items, nothing but the dict."""
    if not all(base is object or _is_plain(base) for base in type(old).__mro__):
        return False
    mine, theirs = getattr(old, "__dict__", None), getattr(new, "__dict__", None)
    return type(mine) is dict and type(theirs) is dict and same(mine, theirs, depth - 1)


def _is_plain(cls: type) -> bool:
    """Whether a class statement made the class, without `__slots__`."""
    return bool(cls.__flags__ & _HEAP_TYPE) and "__slots__" not in vars(cls)
