"""An input that decides sizes and loops, given by value

The program is made for the value in the example: Python code reads it as if it was a constant, and a call with another
value is rejected.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "inputs", "call of export")


class Module(nn.Module):
    def forward(self, x: Tensor, grid: Tensor) -> Tensor:
        parts, at = [], 0
        for t, h, w in grid.tolist():
            parts.append(x[at : at + t * h * w].softmax(0))
            at += t * h * w
        return torch.cat(parts)


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), constants={"grid": None})


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(20, 2), torch.tensor([[1, 2, 4], [2, 2, 3]]))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(20, 2), torch.tensor([[1, 2, 4], [2, 2, 3]]))]
