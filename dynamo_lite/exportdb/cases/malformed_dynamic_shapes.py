"""A specification that does not fit the arguments

A name that is no argument, a dimension that the tensor does not have: each wrong place is named, all at once.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "call of export")
ERROR = "invalid-arguments"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {3: torch.export.Dim("length")}}


def rewrite_dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("length")}}
