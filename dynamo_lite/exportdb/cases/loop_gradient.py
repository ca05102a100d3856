"""A loop on data with a gradient that torch's scan cannot give

A loop on data through which a gradient flows is run twice: for the number of its rounds, and then as torch's scan of so
many. scan has a gradient for floating-point tensors only: where a round computes with a number that it carries, it is
refused. A tensor in the place of the number can be carried.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "gradients", "call of export")
ERROR = "loop-gradient"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        steps = 1
        while x.norm() > 0.3:  # stops here
            x = self.linear(x) / (2 + steps)
            steps += 1
        return x


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        steps = torch.ones(())
        while x.norm() > 0.3:
            x = self.linear(x) / (2 + steps)
            steps = steps + 1
        return x


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3, 2),)
