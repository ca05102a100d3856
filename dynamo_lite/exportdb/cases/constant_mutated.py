"""Changing a global tensor in place

A tensor that is neither an input nor a registered buffer is copied into the program as a constant: a change would
reach only the copy. As a buffer it is state that the program updates.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "globals")
ERROR = "constant-mutated"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.holder = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.holder[0].add_(x)  # stops here
        return self.holder[0] * 2


class Rewrite(nn.Module):
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(x)
        return self.total * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
