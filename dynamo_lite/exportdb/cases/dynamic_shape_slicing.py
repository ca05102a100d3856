"""Slicing up to a computed size

The bound of the slice is an expression of the size.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "indexing")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[: x.shape[0] - 2, x.shape[1] - 1 :: 2]


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("rows", min=3)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(3, 2),), (torch.randn(9, 2),)]
