"""Batch norm in training mode

The running statistics are buffers that each call updates, in the program as in eager.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules", "buffers", "training")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 3),)
