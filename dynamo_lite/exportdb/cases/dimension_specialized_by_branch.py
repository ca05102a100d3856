"""A branch that holds for one size only

`if length == 8` would fix the length. Both sides are captured, since other sizes are promised.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "control-flow")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] == 8:
            return x * 2
        return x + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(8),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("length", min=2, max=64)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(length),) for length in (2, 5, 64)]
