"""A branch on data, one side of which returns an input

In eager the result is the input itself on that side; the program's result has memory of its own. By default that is a
note; with `effects="exact"` it is an error. Return a clone on each side that returns an input.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("control-flow", "effects", "aliasing")
ERROR = "copied-result"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else x * 2


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.clone() if x.sum() > 0 else x * 2


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), effects="exact")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3),)
