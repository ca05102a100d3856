"""A dynamic batch size

A named dimension: the program takes every size in its range.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes",)


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x).softmax(-1)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 4),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("batch", max=1024)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(1, 4),), (torch.randn(64, 4),)]
