"""Saying that an effect may be lost

A statistic that the model keeps for other code is not part of the program. `effects="drop"` says that losing it is
fine; the report still lists it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("effects", "state", "call of export")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * 2


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), effects="drop")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
