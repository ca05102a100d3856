"""Comparing shapes

`x.shape == y.shape` compares tuples of sizes; the answer for sizes that share a `Dim` is known for all of them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "python")


def dynamic_shapes() -> dict[str, Any]:
    rows = torch.export.Dim("rows")
    return {"x": {0: rows}, "y": {0: rows}}


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        if x.shape == y.shape and x.shape[:-1] == y.shape[:-1]:
            return x + y
        raise ValueError("the shapes differ")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2), torch.randn(4, 2))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(3, 2), torch.randn(3, 2))]
