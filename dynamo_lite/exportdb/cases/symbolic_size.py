"""A symbolic number of another trace

A SymInt that another trace left behind stands for a size there. Nothing computes it here. Use the number, or take it
from a tensor that the program has.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

TAGS = ("inputs", "fake")
ERROR = "symbolic-size"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        context: Any = StatelessSymbolicContext([DimDynamic.DYNAMIC])
        fake = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.randn(4), symbolic_context=context)
        self.length = fake.shape[0]

    def forward(self, x: Tensor) -> Tensor:
        return x * self.length  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * x.shape[0]


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return x * 4


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4),)
