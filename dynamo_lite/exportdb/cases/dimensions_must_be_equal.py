"""Two dimensions that have to be equal

Adding the two requires that their sizes agree. Use one `Dim` for both.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes",)
ERROR = "constraint-violation"


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def rewrite_dynamic_shapes() -> dict[str, Any]:
    length = torch.export.Dim("length", min=2)
    return {"x": {0: length}, "y": {0: length}}


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4), torch.randn(4))


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("a", min=2)}, "y": {0: torch.export.Dim("b", min=2)}}
