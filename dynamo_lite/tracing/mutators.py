"""C callables that change one of their arguments, and which part of it.

The tracer takes a snapshot of that argument before the call. One row a callable: callable → (position, part), where
part is "items" or "attributes" (see snapshots.py).
"""

from __future__ import annotations

import bisect
import collections
import heapq
import operator
from collections import _count_elements  # type: ignore[attr-defined]  # what Counter.update calls
from typing import Any

_METHODS: dict[type, str] = {
    list: "append extend insert pop remove clear sort reverse __setitem__ __delitem__ __iadd__ __imul__ __init__",
    dict: "update setdefault pop popitem clear __setitem__ __delitem__ __ior__ __init__",
    collections.OrderedDict: "update setdefault pop popitem clear move_to_end __setitem__ __delitem__ __ior__ __init__",
    collections.defaultdict: "__missing__ __init__",
    set: (
        "add discard remove pop clear update difference_update intersection_update symmetric_difference_update "
        "__ior__ __iand__ __isub__ __ixor__ __init__"
    ),
    collections.deque: (
        "append appendleft extend extendleft insert pop popleft remove clear rotate reverse "
        "__setitem__ __delitem__ __iadd__ __imul__ __init__"
    ),
    bytearray: "append extend insert pop remove clear reverse __setitem__ __delitem__ __iadd__ __imul__ __init__",
}

_FUNCTIONS: tuple[tuple[Any, int], ...] = (
    (operator.setitem, 0),
    (operator.delitem, 0),
    (operator.iadd, 0),
    (operator.iconcat, 0),
    (operator.imul, 0),
    (operator.ior, 0),
    (operator.iand, 0),
    (operator.isub, 0),
    (operator.ixor, 0),
    (heapq.heappush, 0),
    (heapq.heappop, 0),
    (heapq.heapify, 0),
    (heapq.heapreplace, 0),
    (heapq.heappushpop, 0),
    (_count_elements, 0),
    (bisect.insort, 0),
    (bisect.insort_left, 0),
    (bisect.insort_right, 0),
)


def table() -> dict[int, tuple[int, str]]:
    """id(callable) → (position of the changed argument, its part). The callables live as long as the process."""
    rows = {id(fn): (position, "items") for fn, position in _FUNCTIONS}
    for cls, names in _METHODS.items():
        for name in names.split():
            method = cls.__dict__.get(name)
            if method is not None:
                rows[id(method)] = (0, "items")
    for name in ("__setattr__", "__delattr__"):
        rows[id(object.__dict__[name])] = (0, "attributes")
        rows[id(type.__dict__[name])] = (0, "attributes")
    return rows
