"""Containers of tensors that C compares: two items that are one tensor are equal, with any data.

Each program gets arguments of which some are one tensor or list in the caller's hands, and is called with others too.
"""

from __future__ import annotations

import collections
import itertools
import operator
from typing import Any

import torch
from torch import nn

from tests.export.probe import Case, Probe, equal, raises, refused, t

NAN = float("nan")


def _probe(name: str, program: Any, example: Any, *others: Any) -> Probe:
    def build() -> Case:
        return Case(program, example(), also=[(other(), {}) for other in others], returned=True)

    build.__name__ = name
    return equal(build)


def _one() -> Any:
    x = t(2)
    return x, x


def _one_list() -> Any:
    items = [t(1)]
    return items, items


def _one_dict() -> Any:
    items = {"a": [t(2), (t(1), 1)]}
    return items, items


def _two_lists_of_one() -> Any:
    x = t(1)
    return [x], [x]


def _one_nan() -> Any:
    x = torch.full((1,), NAN)
    return x, x


def _two_nans() -> Any:
    return torch.full((1,), NAN), torch.full((1,), NAN)


def _list_and_its_first() -> Any:
    items = [t(1), t(1)]
    return items, items[0]


def _list_and_an_equal() -> Any:
    return [torch.ones(1), t(1)], torch.ones(1)


def _truth(condition: Any) -> Any:
    return lambda a, b: torch.ones(2) * (2 if condition(a, b) else 3)


def _number(count: Any) -> Any:
    return lambda a, b: torch.ones(2) * count(a, b)


def _without(items: Any, item: Any) -> Any:
    items.remove(item)
    return items


for _name, _program in {
    "equal": _truth(operator.eq),
    "unequal": _truth(lambda a, b: a != b),
    "at_most": _truth(lambda a, b: list(a) <= list(b)),
    "within": _truth(lambda a, b: a in [None, b]),
    "of_deques": _truth(lambda a, b: collections.deque(a) == collections.deque(b)),
    "by_method": _truth(lambda a, b: list.__eq__(list(a), list(b)) and list(a).__eq__(list(b))),
    "copied": _truth(lambda a, b: dict(enumerate(a)) == dict(enumerate(b))),
}.items():
    for _example in (_one_list, _two_lists_of_one):
        _key = f"{_name}{_example.__name__}"
        globals()[_key] = _probe(_key, _program, _example, lambda: ([t(1)], [t(1)]))

one_dict_equal = _probe("one_dict_equal", _truth(operator.eq), _one_dict)
one_dict_values = _probe("one_dict_values", _truth(lambda a, b: a["a"] in b.values()), _one_dict)
one_dict_items = _probe("one_dict_items", _truth(lambda a, b: ("a", a["a"]) in b.items()), _one_dict)
one_dict_views = _probe("one_dict_views", _truth(lambda a, b: a.items() == b.items()), _one_dict)
for _name, _program in {
    "count": _number(lambda a, b: operator.countOf(a[:1], b) + a[:1].count(b)),
    "index": _number(lambda a, b: operator.indexOf(a, b) + a.index(b)),
    "removed": _number(lambda a, b: len(_without(list(a), b)) + len(_without(collections.deque(a), b))),
    "contained": _truth(lambda a, b: b in a and operator.contains(a, b)),
}.items():
    globals()[_name] = _probe(_name, _program, _list_and_its_first, _list_and_an_equal)
for _name, _program in {
    "grouped": _number(lambda a, b: len(list(itertools.groupby([a, b])))),
    "sorted_by_the_second": _number(lambda a, b: sorted([(a, 2), (b, 1)])[0][1]),
    "largest_by_the_second": _number(lambda a, b: max((a, 2), (b, 3))[1]),
}.items():
    globals()[_name] = _probe(_name, _program, _one)

_in_lists = _truth(lambda a, b: [a] == [b])
one_nan_is_equal = _probe("one_nan_is_equal", _in_lists, _one_nan, _two_nans)
two_nans_are_not = _probe("two_nans_are_not", _in_lists, _two_nans, _one_nan, lambda: (t(1), t(1)))
elementwise = _probe("elementwise", lambda a, b: (a == b, a.eq(b), operator.eq(a, b)), _one_nan, _two_nans)
mapped = _probe("mapped", _truth(lambda a, b: any(map(operator.eq, [a], [b]))), _one_nan, _two_nans)


def _caught(a: Any, b: Any) -> Any:
    try:
        return a * (2 if a in [b] else 3)
    except RuntimeError:
        return a * 5


caught_one = _probe("caught_one", _caught, _one, lambda: (t(2), t(2)))
caught_two = _probe("caught_two", _caught, lambda: (t(2), t(2)), _one)


@raises
def two_tensors():
    return lambda a, b: a[0] * (2 if a == b else 3), ([t(2)], [t(2)])


class Weighted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(t(2))

    def forward(self, x: Any) -> Any:
        return x * (2 if x in [self.w] else 3)


@refused("input-identity")
def a_weight_as_argument():
    model = Weighted()
    return model, (model.w,)


@raises
def a_weight_and_another_tensor():
    return Weighted(), (t(2),)
