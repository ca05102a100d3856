"""A range that the program does not keep

The table has 16 rows, so longer inputs cannot work. Give the dimension the maximum.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes",)
ERROR = "constraint-violation"


class Module(nn.Module):
    table: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.randn(16, 2))

    def forward(self, x: Tensor) -> Tensor:
        assert x.shape[0] <= 16
        return x + self.table[: x.shape[0]]


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("length", max=64)}}


def rewrite_dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("length", max=16)}}
