"""A sort whose order the data decide

`sorted` and `list.sort` compare in C, where no branch can be seen. Such a call is run again as Python that lets
neighbours change places, each pair by a branch. Up to 12 items; a key that is nan is an error of the program.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "builtins", "call of export")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        best, second, _ = sorted(x.unbind(), key=lambda row: row.sum(), reverse=True)
        return best - second


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.tensor([[1.0, 2.0], [3.0, 0.5], [-1.0, 2.0]]),)


def other_inputs() -> list[tuple[Tensor]]:
    return [(torch.tensor([[1.0, 2.0], [3.0, 0.5], [7.0, 2.0]]),)]
