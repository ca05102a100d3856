"""A view of one tensor or of another, as a branch went, changed in place

The result of a branch on data is a tensor of its own. In eager `row` is a view that a side has made of `a`, and
changing it in place changes `a`. A change of `a` itself, by whole tensors, is captured: `y = a if p else b`, then
`y.add_(1)`.
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
        row = a[0] if x.sum() > 0 else a[1]
        row.add_(1)  # stops here
        return a


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        a = x * 2
        if x.sum() > 0:
            a[0].add_(1)
        else:
            a[1].add_(1)
        return a


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3, 2),)
