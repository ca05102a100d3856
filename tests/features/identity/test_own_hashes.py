"""A `__hash__` of the program's that is made of an address: good for a table, refused where its number or the order of
a set would be in the program."""

from __future__ import annotations

import collections
import functools
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dynamo_lite
from dynamo_lite.errors import GraphBreak

X = torch.ones(3)
Named = collections.namedtuple("Named", "key number")


class ById:
    def __init__(self, number: int = 0) -> None:
        self.number = number

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class ByDefault(ById):
    def __hash__(self) -> int:
        return object.__hash__(self)


class OfTuple(ById):
    def __hash__(self) -> int:
        return hash((id(self), 3))


class Inherits(ById):
    def __hash__(self) -> int:
        return super().__hash__()


class Keeps(ById):
    def __hash__(self) -> int:
        self.kept = id(self)
        return self.kept


HASHES = [ById, ByDefault, OfTuple, Inherits]


def dicts(make: Any) -> int:
    one, two = make(1), make(2)
    table = {one: 1, two: 2, (two, 1): 4}
    table[make(3)] = 8
    return int(table[two] + table[two, 1] + (one in table) + (make(1) in table) + len({one, two, one}))


def old(key: Any) -> Callable[[Any], int]:
    table, items = {key: 5}, {key, "text"}
    return lambda make: table[key] * (key in items) * len(list(items))


TABLES: dict[str, Callable[[Any], int]] = {
    "dicts": dicts,
    "sets": lambda make: len({make(1)} | {make(2)}) + len(frozenset([make(1), (make(2), 1)])),
    "methods": lambda make: len(dict.fromkeys([make(1), make(2)])) + {make(1): 2}.get(make(1), 7),
}


@pytest.mark.parametrize("make", HASHES)
@pytest.mark.parametrize("name", TABLES)
def test_a_table(name: str, make: Any) -> None:
    expected = X * TABLES[name](make)
    assert torch.equal(dynamo_lite.export(lambda x: x * TABLES[name](make), (X,)).module()(X), expected)


@pytest.mark.parametrize("make", HASHES)
def test_a_table_that_was_there_before(make: Any) -> None:
    body = old(make(1))
    assert torch.equal(dynamo_lite.export(lambda x: x * body(make), (X,)).module()(X), X * 10)


NUMBERS: dict[str, Callable[[Any], int]] = {
    "hash": lambda make: hash(make()) % 7,
    "its own": lambda make: make().__hash__() % 7,
    "of a tuple": lambda make: hash((make(), 1)) % 7,
    "after a table": lambda make: len({make()}) + make().__hash__() % 7,
    "mapped": lambda make: sum(map(hash, [make()])) % 7,
    "partial": lambda make: functools.partial(hash, make())() % 7,
}
ORDERS: dict[str, Callable[[Any], int]] = {
    "loop": lambda make: functools.reduce(lambda total, n: 2 * total + n, [k.number for k in {make(1), make(2)}]),
    "iter": lambda make: next(iter({make(1), make(2)})).number,
    "pop": lambda make: {make(1), make(2)}.pop().number,
    "star": lambda make: [*{make(1), make(2)}][1].number,
    "mapped": lambda make: next(map(operator.attrgetter("number"), {make(1), make(2)})),
    "reduced": lambda make: functools.reduce(lambda total, item: 2 * total + item.number, {make(1), make(2)}, 0),
    "deque": lambda make: collections.deque({make(1), make(2)})[0].number,
    "tuples": lambda make: next(iter({(make(1), 1), (make(2), 2)}))[1],
    "named tuples": lambda make: list({Named(make(1), 1), Named(make(2), 2)})[1].number,
    "frozen sets": lambda make: len(next(iter({frozenset([make(1)]), frozenset([make(2), make(3)])}))),
}


class Plain:
    def __init__(self, number: int = 0) -> None:
        self.number = number


@pytest.mark.parametrize("make", [*HASHES, Plain])
@pytest.mark.parametrize("name", [*(f"number: {name}" for name in NUMBERS), *(f"order: {name}" for name in ORDERS)])
def test_what_differs_from_call_to_call_is_refused(name: str, make: Any) -> None:
    kind, _, which = name.partition(": ")
    body = (NUMBERS if kind == "number" else ORDERS)[which]
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(lambda x: x * body(make), (X,))
    assert caught.value.id == "unrecordable-id"


def test_an_address_that_is_kept_is_refused() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        key = Keeps()
        return x * len({key: 1}) * (key.kept % 7)

    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(forward, (X,))
    assert caught.value.id == "unrecordable-id"


CALLED: list[str] = []


class Says:
    def __hash__(self) -> int:
        CALLED.append(__name__)
        return 1


def test_the_items_of_a_key_in_a_literal_are_seen() -> None:
    """The `__hash__` of an item is interpreted: what it changes outside is refused, rather than done while tracing."""
    with pytest.raises(GraphBreak):
        dynamo_lite.export(lambda x: x * len({(Says(), 1): 2}) * len({(Says(),)}), (X,))
    assert not CALLED
