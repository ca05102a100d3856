"""Looking up a number from the data in a dictionary

A key is compared and hashed at once. A table as a tensor is indexed by an operator.

Export captures such a choice as it is written. With `control_flow="refuse"` it is refused, and so is one whose
sides cannot be merged.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "python", "unbacked")
ERROR = "data-dependent-value"


class Module(nn.Module):
    def forward(self, x: Tensor, kind: Tensor) -> Tensor:
        scale = {0: 1.0, 1: 2.0}[int(kind.item())]  # stops here
        return x * scale


class Rewrite(nn.Module):
    def forward(self, x: Tensor, kind: Tensor) -> Tensor:
        return x * torch.tensor([1.0, 2.0]).index_select(0, kind.view(1))


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="refuse")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor(1))
