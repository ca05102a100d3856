"""A tensor made with a dynamic size

The size is a node of the program, computed once from the input's shape.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "factories")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.zeros(x.shape[0] * 2 - x.shape[0], 1)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("rows")}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(3, 2),), (torch.randn(9, 2),)]
