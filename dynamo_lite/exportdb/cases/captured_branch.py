"""A branch on data, captured as it is written

`control_flow="capture"` traces both sides of the branch; what they leave different comes out of a torch.cond. It works
for early returns and conditional expressions as well, and for what the sides change: buffers, containers, attributes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "torch.cond", "call of export")


class Module(nn.Module):
    positive: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("positive", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            self.positive += 1
            return x.sin()
        scale = 2 if x.min() < -1 else 3
        return x.cos() * scale


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3, 2),)


def other_inputs() -> list[tuple[Tensor]]:
    return [(-torch.ones(3, 2),), (-2 * torch.ones(3, 2),)]
