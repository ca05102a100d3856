"""A loop that runs until the data says stop

How often a `while` loop runs must be known during export. Run it as often as it can ever be needed, and let the steps
after the end change nothing.

Export captures such a loop as it is written (`captured_loop`).
With `control_flow="refuse"` it is refused, and so is one whose rounds no operator takes.
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
        while x.abs().max() > 1:  # stops here
            x = x / 2
        return x


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        for _ in range(16):
            x = torch.where(x.abs().max() > 1, x / 2, x)
        return x


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="refuse")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4) * 9,)
