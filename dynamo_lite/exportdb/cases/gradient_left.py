"""Gradients that a step leaves in its parameters

An exported program does not set `.grad`, which is noted; `effects="exact"` refuses it. Reset them at the end.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import dynamo_lite

TAGS = ("autograd", "training", "effects")
ERROR = "gradient-left"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        self.weight.grad = None
        loss = (x * self.weight).sum()
        loss.backward()
        return loss.detach()


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        loss = super().forward(x)
        self.weight.grad = None
        return loss


def export(module: nn.Module) -> Any:
    return dynamo_lite.export(module, inputs(), effects="exact")


def rewrite_export(module: nn.Module) -> Any:
    return dynamo_lite.export(module, inputs(), effects="exact")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
