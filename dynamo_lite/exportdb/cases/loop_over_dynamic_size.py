"""A Python loop over a dynamic size

A loop that is unrolled fixes the number of its steps. Where the steps are alike, an operator over the whole dimension
does the same for every size, and faster.

Export captures such a loop as it is written (`captured_recurrence`).
With `control_flow="refuse"` it is refused, and so is one whose rounds no operator takes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("dynamic-shapes", "control-flow", "python")
ERROR = "constraint-violation"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros(x.shape[1])
        for i in range(x.shape[0]):
            total = total + x[i] * (i + 1)
        return total


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        weights = torch.arange(1, x.shape[0] + 1, dtype=x.dtype)
        return (x * weights[:, None]).sum(0)


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), dynamic_shapes=dynamic_shapes(), control_flow="refuse")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("rows", min=2)}}
