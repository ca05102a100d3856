"""A branch on a dynamic size

The example's side is taken, and the size's range says for which inputs that is right. Here the range of the dimension
settles the question.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "control-flow")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.cos() if x.shape[0] >= 3 else x.sin()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("rows", min=3, max=64)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(3, 2),), (torch.randn(9, 2),)]
