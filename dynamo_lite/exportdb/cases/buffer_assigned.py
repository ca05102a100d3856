"""Assigning a buffer

`self.b = ...` gives the buffer a new tensor. The program copies the value into its buffer at the end, which is the
same for every later call.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "buffers")


class Module(nn.Module):
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return x - self.mean


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 3),)
