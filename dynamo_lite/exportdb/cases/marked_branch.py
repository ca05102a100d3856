"""One branch on data, marked to be captured

`dynamo_lite.branch(pred)` gives back `pred`. A branch on it is captured with `control_flow="refuse"`, too, where other
branches on data are refused.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if dynamo_lite.branch(x.sum() > 0):
            return x.sin()
        return x.cos()


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="refuse")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3),)


def other_inputs() -> list[tuple[Tensor]]:
    return [(-torch.ones(3),)]
