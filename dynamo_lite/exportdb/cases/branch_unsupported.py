"""A tensor that is another one, or not, as a branch went

With `control_flow="capture"` the result of a branch is a tensor of its own. In eager `y` is `a` itself on one side, and
changing it in place changes `a`. The program cannot do both: clone before the change.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "in place", "call of export")
ERROR = "branch-unsupported"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a = x * 2
        if x.sum() > 0:
            y = a
        else:
            y = a + 1
        y.add_(1)  # stops here
        return a + y


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a = x * 2
        if x.sum() > 0:
            a = y = a + 1
        else:
            y = a + 2
        return a + y


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3, 2),)
