"""Kinds of containers in arguments and results: named tuples, dataclasses, collections."""

from __future__ import annotations

import collections
import dataclasses
import weakref
from typing import Any

import torch

from tests.export.probe import Case, equal, sound, t

from .registered_containers import Box, Named, Point, of, parts, register


@equal
def named_tuple_with_methods_and_defaults():
    def f(point):
        return point.value(), point._replace(x=point.x + 1)

    return f, (Point(t(3)),)


@equal
def subclass_of_a_named_tuple():
    def f(point):
        return point.value(), Named(point.x + 1, point.y)

    return f, (Named(t(3), t(3)),)


@dataclasses.dataclass
class Row:
    x: Any
    mask: Any = None
    name: str = "row"
    rest: list[Any] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.length = len(self.rest)


torch.export.register_dataclass(Row, serialized_type_name="hostile.Row")


@equal
def registered_dataclass():
    def f(row):
        return row.x + 1 if row.mask is None else row.x, Row(row.x * 2, None, row.name, [row.x])

    return f, (Row(t(3), None, "first", [t(2)]),)


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    n: int = 2


@equal
def frozen_dataclass_that_is_not_registered():
    def f(row):
        return Frozen(row.x * row.n, row.n)

    return f, (Frozen(t(3)),)


@equal
def ordered_and_default_dicts_and_deques():
    def f(a, b, c):
        a.move_to_end("x")
        return next(iter(a.values())) + b["k"][0] + c[-1], a, b, c

    a = collections.OrderedDict(x=t(3), y=t(3))
    b = collections.defaultdict(list, k=[t(3)])
    return Case(f, (a, b, collections.deque([t(3), t(3)])), returned=True)


@equal
def nested_empty_containers_and_none():
    def f(tree):
        return tree["x"] + len(tree["empty"]) + len(tree["nested"][0]), tree

    return f, ({"x": t(3), "empty": {}, "nested": ([], (), None, {"a": [None]}), "none": None},)


class WeaklyHeld(Box): ...


LIVE: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def weakly_back(children: Any, n: Any) -> Any:
    box = WeaklyHeld(*children, n)
    LIVE[len(LIVE)] = box
    return box


register(WeaklyHeld, parts, weakly_back)


@sound()
def unflatten_notes_what_it_has_made():
    return of(WeaklyHeld)
