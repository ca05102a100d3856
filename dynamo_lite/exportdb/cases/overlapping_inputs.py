"""Two arguments that overlap in memory

A write to one is seen through the other. The program writes in place too, in the same order, so it does what eager
does on arguments that overlap and on arguments that do not.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("inputs", "aliasing", "in-place")


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x.add_(1)
        return y * 2


def inputs() -> tuple[Tensor, ...]:
    whole = torch.zeros(4)
    return whole[:3], whole[1:]


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.zeros(3), torch.zeros(3))]
