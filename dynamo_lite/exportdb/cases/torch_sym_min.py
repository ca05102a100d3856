"""The smaller of two sizes

`torch.sym_min` and `torch.sym_max` keep the choice in the program; Python's `min` decides it for the example's sizes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "python")


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        n = torch.sym_min(x.shape[0], y.shape[0])
        return x[:n] + y[:n]


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4), torch.randn(6))


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("a", min=2)}, "y": {0: torch.export.Dim("b", min=2)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(5), torch.randn(3)), (torch.randn(5), torch.randn(5))]
