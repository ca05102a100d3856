"""Where a set of the program's objects is put into a list, the list has the order of addresses: refused."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak


class Box:
    def __init__(self, number: int) -> None:
        self.number = number


def added(items: set[Any]) -> Any:
    box: list[Any] = []
    box += items
    return box


def added_to_a_deque(items: set[Any]) -> Any:
    box: collections.deque[Any] = collections.deque()
    box += items
    return box


def put_into_a_slice(items: set[Any]) -> Any:
    box = [0]
    box[:] = items
    return box


def counted(items: set[Any]) -> Any:
    return [*collections.Counter(items)]


def counted_later(items: set[Any]) -> Any:
    counter: collections.Counter[Any] = collections.Counter()
    counter.update(items)
    return [*counter]


def in_a_user_list(items: set[Any]) -> Any:
    return collections.UserList(items)


USES = [added, added_to_a_deque, put_into_a_slice, counted, counted_later, in_a_user_list]


def _model(use: Callable[[set[Any]], Any], make: Callable[[], set[Any]]) -> nn.Module:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first = use(make())[0]
            return x * (first if isinstance(first, int) else first.number)

    return Model()


@pytest.mark.parametrize("use", USES)
def test_the_order_of_new_objects_is_refused(use: Callable[[set[Any]], Any]) -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(_model(use, lambda: {Box(1), Box(2)}), (torch.ones(2),))
    assert caught.value.id == "unrecordable-id"


def test_the_order_of_numbers_is_not() -> None:
    x = torch.ones(2)
    for use in USES:
        model = _model(use, lambda: {5, 3})
        torch.testing.assert_close(dynamo_lite.export(model, (x,)).module()(x), model(x))


def test_a_set_that_takes_a_set_shows_no_order() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            items = {Box(1)}
            items |= {Box(2), Box(3)}
            return x * len(items)

    x = torch.ones(2)
    torch.testing.assert_close(dynamo_lite.export(Model(), (x,)).module()(x), 3 * x)
