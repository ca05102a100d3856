"""A dimension that is promised but not kept

The specification says that the size varies, and the program works for one size only: the weight's. The error names the
line that fixed it, and a specification that exports.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes",)
ERROR = "constraint-violation"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 4),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("batch"), 1: torch.export.Dim("width")}}


def rewrite_dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("batch")}}
