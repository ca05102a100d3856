"""An assert on a size

What the assert needs of a dynamic size becomes a condition on the input, checked on each call.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "assert")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        assert x.shape[0] > 2, "at least three rows"
        return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("rows", min=3)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(3, 2),), (torch.randn(9, 2),)]
