"""A counter that is a buffer

State in registered buffers is part of the program: each call reads what the last one left.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "buffers", "in-place")


class Module(nn.Module):
    steps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        self.steps.add_(1)
        return x / self.steps


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
