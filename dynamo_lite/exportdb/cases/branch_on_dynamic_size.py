"""A branch that holds for a part of the sizes

Both sides are captured, since both kinds of sizes are promised: the program has a torch.cond on the size. With
`Dim.AUTO` the side of the example is taken and the others are rejected, unless that would lose a size of 1.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "control-flow")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 8:
            return x[:8] * 3
        return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(12),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("rows", max=64)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(rows),) for rows in (1, 5, 8, 9)]
