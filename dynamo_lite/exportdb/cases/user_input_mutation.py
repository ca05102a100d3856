"""Changing an argument in place

The caller sees the change: the in-place operator is in the program, and its signature says that the input is mutated.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "inputs", "in-place")


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x.mul_(2)
        x[0] = y.sum()
        return x.cos()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.randn(2))
