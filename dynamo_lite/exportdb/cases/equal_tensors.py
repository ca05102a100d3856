"""torch.equal in a condition

`torch.equal` and `torch.allclose` return a Python bool that depends on data. It can be returned, computed with and
asserted (`assert torch.equal(x, y)` is checked in each call of the program); a branch on it is
captured. With `control_flow="refuse"` it needs a tensor as the condition.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "torch.equal")
ERROR = "data-dependent-branch"


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        same = torch.equal(x, y)
        return x if same else x - y  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.where((x == y).all(), x, x - y)


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="refuse")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.randn(3))
