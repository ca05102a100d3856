"""A submodule that each call makes anew before it calls it: as with any attribute, what it was cannot matter."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.act, self.parts = nn.Linear(3, 3), nn.Tanh(), {"first": 1.0}


def assigned(self: Base, x: torch.Tensor) -> torch.Tensor:
    self.act = nn.ReLU()
    return self.act(self.layer(x))


def new(self: Base, x: torch.Tensor) -> torch.Tensor:
    self.fresh = nn.Softplus(beta=2.0)
    return self.fresh(x) + (1 if hasattr(self, "fresh") else 2)


def looked_for_afterwards(self: Base, x: torch.Tensor) -> torch.Tensor:
    self.parts["second"] = 2.0
    return x * self.parts["second"] * (3.0 if "second" in self.parts else 4.0)


TAKEN = [assigned, new, looked_for_afterwards]


@pytest.mark.parametrize("forward", TAKEN, ids=lambda forward: forward.__name__)
def test_it_is_taken(forward: Any) -> None:
    model = type("Model", (Base,), {"forward": forward})()
    eager = copy.deepcopy(model)
    names = [name for name, _ in model.named_modules()]
    program = dynamo_lite.export(model, (torch.randn(2, 3),)).module()
    assert [name for name, _ in model.named_modules()] == names and type(model.act) is nn.Tanh
    for _ in range(3):
        x = torch.randn(2, 3)
        torch.testing.assert_close(program(x), eager(x))


def looked_for_before(self: Base, x: torch.Tensor) -> torch.Tensor:
    k = 3.0 if "second" in self.parts else 4.0
    self.parts["second"] = 2.0
    return x * self.parts["second"] * k


def called_before(self: Base, x: torch.Tensor) -> torch.Tensor:
    y = self.act(x)
    self.act = nn.ReLU()
    return y + self.act(x)


@pytest.mark.parametrize("forward", [looked_for_before, called_before], ids=lambda forward: forward.__name__)
def test_what_the_next_call_sees_is_refused(forward: Any) -> None:
    model = type("Model", (Base,), {"forward": forward})()
    x = torch.randn(2, 3)
    eager = copy.deepcopy(model)
    assert not torch.equal(eager(x), eager(x))
    with pytest.raises(GraphBreak, match="python-state"):
        dynamo_lite.export(model, (x,))
