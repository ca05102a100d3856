"""A loop on data through which a gradient would flow

With `control_flow="capture"` a loop on data becomes torch's while_loop, whose gradient torch 2.13 computes wrongly. So
a loop on tensors that require grad is refused, unless no gradient is asked for.
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
        while x.norm() > 0.3:  # stops here
            x = self.linear(x) * 0.1
        return x


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return super().forward(x)


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3, 2),)
