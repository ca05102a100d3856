"""An entry under an object that the call itself made is found by no later call."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError, GraphBreak

X = torch.ones(2)


class Key:
    pass


class Equal:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)

    def __hash__(self) -> int:
        return 1


class Doubler:
    @functools.singledispatchmethod
    def go(self, value: Any) -> Any:
        return value * 2

    @go.register
    def _(self, value: int) -> int:
        return value + 100


class Program(nn.Module):
    def __init__(self, body: Callable[[Any, torch.Tensor], Any]) -> None:
        super().__init__()
        self.body, self.cache, self.key = body, {}, Key()
        self.weak: Any = weakref.WeakKeyDictionary()

    def forward(self, x: torch.Tensor) -> Any:
        return x * self.body(self, x)


def _count(cache: Any, key: Any) -> int:
    try:
        cache[key] = (cache[key][0] + 1, key)  # the value holds the key, as the methods of singledispatchmethod do
    except KeyError:
        cache[key] = (1, key)
    return int(cache[key][0])


def _equals_eager(body: Callable[[Any, torch.Tensor], Any]) -> None:
    module, eager = Program(body), Program(body)
    program = dynamo_lite.export(module, (X.clone(),)).module()
    for _ in range(3):
        torch.testing.assert_close(program(X), eager(X))
    assert not module.cache and not module.weak


@pytest.mark.parametrize("key", [Key, lambda: lambda: None])
def test_an_entry_that_nobody_finds_is_dropped(key: Callable[[], Any]) -> None:
    _equals_eager(lambda s, x: _count(s.cache, key()))


def _count_without_error(cache: Any, key: Any) -> int:
    cache[key] = (cache.get(key, (0, None))[0] + 1, key)
    return int(cache[key][0])


def test_a_weak_key() -> None:
    _equals_eager(lambda s, x: _count_without_error(s.weak, Key()) + _count_without_error(s.weak, Key()))


def test_a_weak_reference_beside_the_traceback_of_an_error_is_refused() -> None:
    with pytest.raises(DynamoLiteError) as caught:
        dynamo_lite.export(Program(lambda s, x: _count(s.weak, Key()) + _count(s.weak, Key())), (X.clone(),))
    assert getattr(caught.value, "id", "") == "object-lifetime"


def test_singledispatchmethod() -> None:
    _equals_eager(lambda s, x: Doubler().go(x) + Doubler().go(1))


FOUND: dict[str, Callable[[Any, torch.Tensor], Any]] = {
    "an older key": lambda s, x: _count(s.cache, s.key),
    "an older key, weakly": lambda s, x: _count(s.weak, s.key),
    "the argument": lambda s, x: _count(s.cache, x),
    "an equal key": lambda s, x: _count(s.cache, Equal()),
    "an equal key, weakly": lambda s, x: _count(s.weak, Equal()),
    "the length": lambda s, x: _count(s.cache, Key()) + len(s.cache),
    "the length, weakly": lambda s, x: _count(s.weak, Key()) + len(s.weak),
    "the truth": lambda s, x: (2 if s.cache else 1) + _count(s.cache, Key()),
    "the keys": lambda s, x: _count(s.cache, Key()) + sum(1 for _ in s.cache),
    "the keys, unpacked": lambda s, x: _count(s.cache, Key()) + len([*s.cache]),
    "the values": lambda s, x: _count(s.cache, Key()) + sum(n for n, _ in s.cache.values()),
    "the items": lambda s, x: _count(s.cache, Key()) + sum(n for _, (n, _) in s.cache.items()),
    "a copy": lambda s, x: _count(s.cache, Key()) + len(dict(s.cache)),
    "a merge": lambda s, x: _count(s.cache, Key()) + len({**s.cache}),
    "its text": lambda s, x: _count(s.cache, Key()) + str(s.cache).count("Key"),
    "another entry": lambda s, x: _count(s.cache, Key()) + _count(s.cache, "name"),
    "equality": lambda s, x: _count(s.cache, Key()) + (1 if s.cache == {} else 2),
    "the last": lambda s, x: _count(s.cache, Key()) + s.cache.popitem()[1][0] + _count(s.cache, Key()) + len(s.cache),
}


@pytest.mark.parametrize("name", FOUND)
def test_an_entry_that_a_later_call_finds_is_refused(name: str) -> None:
    module = Program(FOUND[name])
    with pytest.raises(GraphBreak):
        dynamo_lite.export(module, (X.clone(),))
    assert not module.cache and not module.weak
