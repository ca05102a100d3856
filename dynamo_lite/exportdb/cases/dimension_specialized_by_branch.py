"""A branch that holds for one size only

`if length == 8` is decided for the example, so the other sizes that were promised would go the wrong way.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "control-flow")
ERROR = "constraint-violation"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] == 8:
            return x * 2
        return x


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.where(torch.scalar_tensor(x.shape[0]) == 8, 2, 1)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(8),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("length", min=2, max=64)}}
