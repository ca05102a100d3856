"""Letting the export find out which sizes vary

`Dim.AUTO` makes a size dynamic if the program admits it: here the first one, while the weight fixes the second.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes",)


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 4),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(7, 4),)]
