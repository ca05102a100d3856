"""A branch on the data of a tensor

Python's `if` must know the answer while the program is exported, and only a run with data has it. Following the side
that the example takes would give a program that is wrong for other inputs. So compute both sides and pick, or make
the choice a part of the program with torch.cond.

Export captures such a branch as it is written (`captured_branch`).
With `control_flow="refuse"` it is refused, and so is one whose sides cannot be merged.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "torch.where")
ERROR = "data-dependent-branch"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:  # stops here
            return x.sin()
        return x.cos()


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.where(x.sum() > 0, x.sin(), x.cos())


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="refuse")


def inputs() -> tuple[Tensor]:
    return (torch.randn(3, 2),)
