"""A tensor that one of two branches chose, changed in place

In eager `c` is `a`, `b` or neither, as two branches went, and `c += 1` changes it under all its names. The branches of
the program also return which of them `c` is.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "in place", "call of export")


class Module(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a, b = x * 1, x * 2
        if x.sum() > 0:
            c = a if x.max() > 2 else b
        else:
            c = x * 3
        c += 1
        return a, b, c


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3, 2),)


def other_inputs() -> list[tuple[Tensor]]:
    return [(torch.ones(3, 2) * 5,), (-torch.ones(3, 2),)]
