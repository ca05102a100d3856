"""Constraints on dimensions, as torch 2.1 wrote them

`dynamic_dim(x, i)` with comparisons instead of a specification.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("dynamic-shapes", "call of export")


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def export(module: nn.Module) -> ExportedProgram:
    x, y = inputs()
    rows = dynamo_lite.dynamic_dim(x, 0)
    constraints = [rows >= 2, rows <= 16, dynamo_lite.dynamic_dim(y, 0) == rows]
    return dynamo_lite.export(module, (x, y), constraints=constraints)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2), torch.randn(4, 2))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(9, 2), torch.randn(9, 2))]
