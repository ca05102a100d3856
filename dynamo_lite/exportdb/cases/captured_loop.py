"""A loop on data, captured as it is written

`control_flow="capture"` makes a while_loop of a Python `while`: what a round changes is carried from round to round,
numbers as well as tensors. `for i in range(n.item())` works likewise.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "call of export")


class Module(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        steps = 0
        while x.abs().max() > 1:
            x = x / 2
            steps += 1
        return x, steps


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.full((4,), 9.0),)


def other_inputs() -> list[tuple[Tensor]]:
    return [(torch.zeros(4),), (torch.full((4,), 1000.0),)]
