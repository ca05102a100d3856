"""Splitting a dynamic batch into a fixed number of parts

The parts have sizes that are expressions of the batch; their number is a constant.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "containers")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        left, right = x[: x.shape[0] // 2], x[x.shape[0] // 2 :]
        return left.sum(0) + right.mean(0)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(6, 2),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("batch", min=2)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(7, 2),), (torch.randn(2, 2),)]
