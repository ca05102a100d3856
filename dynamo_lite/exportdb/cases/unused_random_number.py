"""A random number that does not matter

Layer drop draws a random number even in eval mode, where nothing depends on it. A value that cannot be recorded is
refused only where it is used.
"""

from __future__ import annotations

import random

import torch
from torch import Tensor, nn

TAGS = ("random", "python")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            chance = random.random()
            if self.training and chance < 0.1:
                continue
            x = layer(x)
        return x


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
