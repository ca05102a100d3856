"""A loop whose length comes from the data

`range` needs the number at once. A mask over the longest length computes the same without it.

Export captures such a loop as it is written (`captured_loop`).
With `control_flow="refuse"` it is refused, and so is one whose rounds no operator takes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "python", "unbacked", "control-flow")
ERROR = "data-dependent-value"


class Module(nn.Module):
    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        total = torch.zeros(2)
        for i in range(int(count.item())):  # stops here
            total = total + x[i]
        return total


class Rewrite(nn.Module):
    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        mask = torch.arange(x.shape[0]) < count
        return (x * mask[:, None]).sum(0)


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="refuse")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2), torch.tensor(3))
