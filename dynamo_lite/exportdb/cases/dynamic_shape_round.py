"""round() of a size

Rounding, true division and other arithmetic of sizes stays symbolic where torch's sizes have it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "python")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[: round(x.shape[0] / 2)]


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(6, 2),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim.DYNAMIC(min=2)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(3, 2),), (torch.randn(9, 2),), (torch.randn(5, 2),)]
