"""Two inputs of the same size

The same `Dim` in two places says that the sizes are equal, which the program then checks.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes",)


def dynamic_shapes() -> dict[str, Any]:
    batch = torch.export.Dim("batch")
    return {"x": {0: batch}, "y": {0: batch}}


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 2), torch.randn(3, 2))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(7, 2), torch.randn(7, 2))]
