"""Random numbers by the values of a side of a branch that has a gradient

A branch on data becomes torch.cond. For the gradient torch.cond runs the side a second time, and what that draws are
other numbers than those of the forward. What goes by the shape alone (dropout, `rand_like`, `randn`) is drawn by a
torch.cond of its own before the branch (`captured_dropout`); a sample of what the side computes is refused where a
result requires grad. What is drawn in front of the branch is drawn once.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "gradients", "random", "call of export")
ERROR = "branch-gradient"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.scale
        if x.sum() > 0:  # stops here
            y = y.sin() * torch.bernoulli(y.detach().sigmoid())
        return y


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x * self.scale
        mask = torch.bernoulli(y.detach().sigmoid())
        if x.sum() > 0:
            y = y.sin() * mask
        return y


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3, 2),)
