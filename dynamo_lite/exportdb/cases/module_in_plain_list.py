"""Layers in a plain Python list

torch does not register them, so `parameters()` misses them; the program lifts their weights all the same.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules", "parameters")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
