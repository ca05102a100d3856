"""A view that nested branches made, changed in place

The result of a branch on data is a tensor of its own. In eager `row` is a view that a side has made of `a`, and
changing it in place changes `a`. That is captured for a view that one branch made (`row = a[0] if p else a[1]`, then
`row.add_(1)`), and not for one of a nested branch.
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
        row = a[0] if x.sum() > 0 else a[1] if x.max() > 2 else a[2]
        row.add_(1)  # stops here
        return a


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a = x * 2
        if x.sum() > 0:
            a[0].add_(1)
        elif x.max() > 2:
            a[1].add_(1)
        else:
            a[2].add_(1)
        return a


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3, 2),)
