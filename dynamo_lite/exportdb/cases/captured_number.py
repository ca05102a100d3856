"""A number chosen by data, which an operator wants as a constant

`dim`, `is_causal`, a kernel size: no operator takes them from a tensor. The call is captured once for each value, as
the sides of a branch. A number that may have more than eight values is refused (`range_over_data`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "call of export")


class Module(nn.Module):
    def forward(self, x: Tensor, by_rows: Tensor) -> Tensor:
        dim = 1 if by_rows else 0
        return x.softmax(dim)


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 4), torch.tensor(True))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(3, 4), torch.tensor(False))]
