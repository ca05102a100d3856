"""Calling the program with another shape

Sizes are constants unless `dynamic_shapes` says otherwise. The program checks its inputs and says which one differs,
what was expected and what was given.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("inputs", "static-shapes")
ERROR = "input-mismatch"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)


def wrong_inputs() -> tuple[Tensor, ...]:
    return (torch.randn(5, 3),)


def rewrite_dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("rows")}}
