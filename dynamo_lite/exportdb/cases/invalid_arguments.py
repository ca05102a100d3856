"""The example arguments are not a tuple

`args` is the tuple of positional arguments. A single tensor needs a comma: `(x,)`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("call of export",)
ERROR = "invalid-arguments"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, torch.randn(3))  # type: ignore[arg-type]


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, (torch.randn(3),))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
