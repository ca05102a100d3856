"""A size outside of the promised range

The program checks the range on each call and names the dimension.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "inputs")
ERROR = "input-mismatch"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("length", min=2, max=8)}}


def rewrite_dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("length", max=64)}}


def wrong_inputs() -> tuple[Tensor, ...]:
    return (torch.randn(9),)
