"""Splitting and merging dimensions

`view` with an expression of the sizes, and with -1.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "views")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        heads = x.view(batch, length, 2, width // 2).transpose(1, 2)
        return heads.reshape(batch * 2, -1)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 5, 4),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(1, 7, 4),), (torch.randn(3, 2, 4),)]
