"""Returning an argument, or a view of one

An output that is an input stays that input, and a view shares its memory, in the program as in eager.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("aliasing", "outputs")


class Module(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x, x[0], x.sum()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
