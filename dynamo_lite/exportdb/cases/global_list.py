"""A global list that grows

The list outlives the call, and nothing in a program appends to it. Return the values; the caller can keep them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "python", "globals")
ERROR = "python-state"


LOSSES: list[float] = []


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        LOSSES.append(1.0)  # stops here
        return x * len(LOSSES) / len(LOSSES)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        losses = [1.0]
        return x * len(losses) / len(losses)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
