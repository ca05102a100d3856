"""Catching an exception that bad data raises

A check of the kind "if anything is not finite, raise" becomes an assertion of the program, like an `assert`. Not where
the program itself catches what is raised: then data decides which way it goes on. Choose between the two results.

Export captures such a branch as it is written. With `control_flow="refuse"` it is refused, and so is one whose
sides cannot be merged.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "assert", "exceptions")
ERROR = "data-dependent-branch"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        try:
            if not torch.isfinite(x).all():  # stops here
                raise ValueError("the input is not finite")
        except ValueError:
            return torch.zeros_like(x)
        return x.softmax(-1)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.where(torch.isfinite(x).all(), x.softmax(-1), 0.0)


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="refuse")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4),)
