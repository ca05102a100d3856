"""A branch on a number from the data

Which side to take depends on a value that only a run has. Where one side is meant, `torch._check` says so, and each
call checks it.

Export captures such a branch as it is written. With `control_flow="refuse"` it is refused, and so is one whose
sides cannot be merged.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "unbacked", "torch._check")
ERROR = "data-dependent-branch"


class Module(nn.Module):
    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        n = int(count.item())
        if n > 2:  # stops here
            return x * n
        return x + n


class Rewrite(nn.Module):
    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        n = int(count.item())
        torch._check(n > 2)
        if n > 2:
            return x * n
        return x + n


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="refuse")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor(5))
