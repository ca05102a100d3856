"""Writes to tensors whose elements share memory: the error of eager, at the program's line. Eager is the oracle."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite

MAKERS: dict[str, Callable[[Tensor], Tensor]] = {
    "expand": lambda x: torch.zeros(1, 4).expand(4, 4),
    "expanded input": lambda x: x[:1].expand(4, 4),
    "windows": lambda x: x.flatten().unfold(0, 4, 1)[:4],
}
WRITES: dict[str, Callable[[Tensor], Any]] = {
    "add_": lambda y: y.add_(1),
    "mul_": lambda y: y.mul_(2.0),
    "copy_": lambda y: y.copy_(torch.ones(4, 4)),
    "fill_": lambda y: y.fill_(3),
    "zero_": lambda y: y.zero_(),
    "item": lambda y: y.__setitem__(0, 5.0),
    "masked_fill_": lambda y: y.masked_fill_(y > 0, 1.0),
    "index_put_": lambda y: y.index_put_((torch.tensor([0]),), torch.tensor(1.0)),
    "scatter_": lambda y: y.scatter_(0, torch.zeros(4, 4, dtype=torch.long), 1.0),
    "out": lambda y: torch.add(y.clone(), 1, out=y),
    "exp_": lambda y: y.exp_(),
    "clamp_": lambda y: y.clamp_(0, 1),
    "uniform_": lambda y: y.uniform_(0, 0),
    "foreach": lambda y: torch._foreach_add_([y], 1),
}


class Writer(nn.Module):
    def __init__(self, make: Callable[[Tensor], Tensor], write: Callable[[Tensor], Any], catches: bool) -> None:
        super().__init__()
        self.make, self.write, self.catches = make, write, catches

    def forward(self, x: Tensor) -> Tensor:
        y = self.make(x)
        if self.catches:
            try:
                self.write(y)
            except RuntimeError:
                return x * 2
        else:
            self.write(y)  # here
        return y + x.sum()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize(("make", "varies"), [*((make, False) for make in MAKERS), ("expanded input", True)])
def test_a_write_to_shared_elements_does_what_eager_does(make: str, write: Any, varies: bool) -> None:
    dynamic_shapes = ({0: Dim.AUTO},) if varies else None
    x = torch.full((4, 4), 2.0)
    module = Writer(MAKERS[make], write, False)
    try:
        want: Any = module(x.clone())
    except RuntimeError as error:
        with pytest.raises(RuntimeError) as caught:
            dynamo_lite.export(module, (x.clone(),), dynamic_shapes=dynamic_shapes)
        assert str(caught.value) == str(error)
        lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__) if frame.name == "forward"]
        assert lines == ["self.write(y)  # here"]
        module = Writer(MAKERS[make], write, True)
        want = module(x.clone())
    program = dynamo_lite.export(module, (x.clone(),), dynamic_shapes=dynamic_shapes)
    assert torch.equal(program.module()(x.clone()), want)


OPERANDS: dict[str, Callable[[Tensor], Any]] = {
    "copied on": lambda x: x[1:].copy_(x[:-1]),
    "added on": lambda x: x[1:].add_(x[:-1]),
    "out": lambda x: torch.add(x[:-1], 1, out=x[1:]),
    "the same": lambda x: torch.add(x, 1, out=x),
    "turned": lambda x: x.t().mul_(x),
    "apart": lambda x: x[2:].copy_(x[:2]),
}


@pytest.mark.parametrize("write", OPERANDS.values(), ids=OPERANDS)
def test_an_operand_in_the_same_memory_is_refused_as_in_eager(write: Callable[[Tensor], Any]) -> None:
    x = torch.arange(16.0).reshape(4, 4)
    module = Writer(lambda x: x, write, True)
    want = module(x.clone())
    assert torch.equal(dynamo_lite.export(module, (x.clone(),)).module()(x.clone()), want)


def test_a_size_that_made_elements_share_memory_is_a_condition() -> None:
    class Tries(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = torch.zeros(1).expand(x.shape[0])
            try:
                y.add_(x)
            except RuntimeError:
                return x * 2
            return y

    program = dynamo_lite.export(Tries(), (torch.ones(4),), dynamic_shapes=({0: Dim.AUTO},))
    assert torch.equal(program.module()(torch.ones(3)), Tries()(torch.ones(3)))
    with pytest.raises(Exception, match=r"x|size|shape"):  # with one element eager takes the other way
        program.module()(torch.ones(1))
