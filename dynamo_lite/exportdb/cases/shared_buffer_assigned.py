"""Assigning one of two buffers that share their memory

Afterwards the two would be different tensors. A program has one input for both, so write into it, or register two.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "buffers", "aliasing")
ERROR = "shared-buffer-assigned"


class Module(nn.Module):
    first: Tensor

    def __init__(self) -> None:
        super().__init__()
        shared = torch.zeros(3)
        self.register_buffer("first", shared)
        self.register_buffer("second", shared)

    def forward(self, x: Tensor) -> Tensor:
        self.first = self.first + x  # stops here
        return self.first


class Rewrite(nn.Module):
    first: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("first", torch.zeros(3))
        self.register_buffer("second", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.first = self.first + x
        return self.first


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
