"""A FakeTensor with symbolic sizes as an argument

Its sizes are symbols of another environment, about which nothing is known here. Give a real or meta tensor,
and say which sizes vary by `dynamic_shapes`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

TAGS = ("inputs", "fake", "call of export")
ERROR = "invalid-arguments"


def inputs() -> tuple[Tensor, ...]:
    context: Any = StatelessSymbolicContext([DimDynamic.DYNAMIC])
    return (FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.randn(4), symbolic_context=context),)


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.zeros(x.shape[0])


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return rewrite_inputs()[0]


def rewrite_inputs() -> tuple[Tensor, ...]:
    return (torch.arange(4.0),)


def rewrite_dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("length")}}
