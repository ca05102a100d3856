"""Methods of C classes that a class of the program's overrides and calls by super(): their effects are the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import UnsupportedEffect


class Row(list[float]):
    def append(self, value: float) -> None:
        super().append(value)

    def pop(self, *args: Any) -> float:
        return super().pop(*args)


class Table(dict[str, float]):
    def update(self, *args: Any, **kwargs: Any) -> None:
        super().update(*args, **kwargs)

    @classmethod
    def fromkeys(cls, keys: Any, value: Any = None) -> Any:
        return super().fromkeys(keys, value)


class Ordered(OrderedDict[str, float]):
    def move_to_end(self, key: str, last: bool = True) -> None:
        super().move_to_end(key, last)


class Seen(set[float]):
    def add(self, value: float) -> None:
        super().add(value)


class State(nn.Module):
    def __init__(self, change: Callable[[Any], Any], own: bool) -> None:
        super().__init__()
        self.change, self.own = change, own
        self.made()

    def made(self) -> None:
        self.row, self.table, self.seen = Row([1.0, 3.0]), Table(a=1.0), Seen([1.0])
        self.ordered = Ordered(a=1.0, b=2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.own:  # made in each call
            self.made()
        self.change(self)
        weights = [*self.row, *self.table.values(), *self.seen, *(v * i for i, v in enumerate(self.ordered.values()))]
        return x * torch.tensor(weights).sum()

    def held(self) -> Any:
        return list(self.row), dict(self.table), set(self.seen), list(self.ordered.items())


CHANGES: dict[str, Callable[[Any], Any]] = {
    "append": lambda m: m.row.append(2.0),
    "pop": lambda m: m.row.pop(0),
    "update": lambda m: m.table.update(b=float(len(m.table))),
    "add": lambda m: m.seen.add(float(len(m.seen) + 4)),
    "move_to_end": lambda m: m.ordered.move_to_end(next(iter(m.ordered))),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_refused_and_undone(name: str) -> None:
    module = State(CHANGES[name], own=False)
    before = module.held()
    with pytest.raises(UnsupportedEffect):
        dynamo_lite.export(module, (torch.ones(2),))
    assert module.held() == before


@pytest.mark.parametrize("name", CHANGES)
def test_what_each_call_makes_anew_may_change(name: str) -> None:
    program = dynamo_lite.export(State(CHANGES[name], own=True), (torch.ones(2),), effects="drop").module()
    for x in (torch.ones(2), torch.randn(2)):
        torch.testing.assert_close(program(x), State(CHANGES[name], own=True)(x))


def test_a_class_method() -> None:
    program = dynamo_lite.export(lambda x: x * sum(Table.fromkeys("abc", 2.0).values()), (torch.ones(2),)).module()
    assert torch.equal(program(torch.ones(2)), torch.full((2,), 6.0))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2 * ctx.saved_tensors[0]

    @classmethod
    def apply(cls, *args: Any) -> Any:
        return super().apply(*args)


@pytest.mark.parametrize("strict", [True, False])
def test_apply_of_an_autograd_function(strict: bool) -> None:
    """A method written in C from torch 2.14 on."""
    x = torch.randn(3, requires_grad=True)
    program = dynamo_lite.export(lambda x: Square.apply(x), (x,), strict=strict)
    assert "aten.mul" in program.graph_module.print_readable(print_output=False)
    given = x.detach().clone().requires_grad_()
    program.module()(given).sum().backward()
    torch.testing.assert_close(given.grad, 2 * given.detach())
