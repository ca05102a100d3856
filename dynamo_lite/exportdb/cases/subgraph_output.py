"""A branch of torch.cond that returns an object of its own

Sub-graphs return tensors, numbers and containers of them. Build the object from the result.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "outputs")
ERROR = "subgraph-output"


class Box:
    def __init__(self, value: Tensor) -> None:
        self.value = value


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: Box(y.sin()), lambda y: Box(y.cos()), (x,)).value  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return Box(torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))).value


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return x.sin()


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3),)
