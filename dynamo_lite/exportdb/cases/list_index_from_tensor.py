"""Picking a layer by a tensor

A Python list needs the number at once. Stack what can be picked, and index the stack.

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
    def __init__(self) -> None:
        super().__init__()
        self.scales = [1.0, 2.0, 3.0]

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return x * self.scales[index]  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return x * torch.tensor([1.0, 2.0, 3.0]).index_select(0, index.view(1))


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="refuse")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor(1))
