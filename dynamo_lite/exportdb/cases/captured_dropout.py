"""A dropout on one side of a branch on data, with a gradient

For the gradient torch.cond runs a side again, which would draw another mask. So the mask is drawn by a torch.cond of
its own in front of the branch, through which no gradient flows. The side that is not taken draws nothing, as in eager.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "gradients", "random", "call of export")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.scale
        if x.sum() > 0:
            y = nn.functional.dropout(y.sin(), 0.5)
        return y


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3, 2),)


def other_inputs() -> list[tuple[Tensor]]:
    return [(-torch.ones(3, 2),), (torch.ones(3, 2) * 4,)]
