"""Sizes and gradients of operators whose functions compute with parameters.

torch's rule for the gradient of such an operator traces the functions again, and asks whether sizes are 1.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops import map as mapped
from torch._higher_order_ops import scan

import dynamo_lite

X = torch.linspace(-1, 1, 24).reshape(3, 2, 4)


class WithParameters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)


class Cond(WithParameters):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, self.layer, torch.sin, (x,))


class Map(WithParameters):
    def forward(self, x: torch.Tensor) -> Any:
        return mapped(self.layer, x)


class Scan(WithParameters):
    def forward(self, x: torch.Tensor) -> Any:
        return scan(lambda carry, row: (self.layer(carry) + row, carry.sin()), x[0], x)[1]


@pytest.mark.parametrize("module", [Cond, Map, Scan])
def test_every_size_that_dynamic_shapes_promises(module: Any) -> None:
    mod = module()
    shapes = {"x": {0: torch.export.Dim("a"), 1: torch.export.Dim("b")}}
    run = dynamo_lite.export(mod, (X,), dynamic_shapes=shapes).module()
    for sizes in ((3, 2), (1, 1), (1, 5), (4, 1)):
        for sign in (1, -1):
            x = sign * torch.rand(*sizes, 4)
            torch.testing.assert_close(run(x), mod(x))


@pytest.mark.parametrize("module", [Cond, Map, Scan])
@pytest.mark.parametrize("sign", [1, -1])
def test_gradients_as_in_eager(module: Any, sign: int) -> None:
    mod = module()
    x = sign * torch.rand(3, 2, 4)
    program = dynamo_lite.export(mod, (x,))
    run = program.module()
    weights = dict(run.named_parameters())
    torch.autograd.backward(mod(x).sum())
    torch.autograd.backward(run(x).sum())
    for name, parameter in mod.named_parameters():
        torch.testing.assert_close(weights[name].grad, parameter.grad)
