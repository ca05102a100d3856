"""Changing a parameter inside of an autocast region

Autocast casts a parameter at its first use and keeps the cast until the region ends. Eager therefore goes on with the
old value; a program casts at each use.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autocast", "effects", "parameters")
ERROR = "autocast-cache"
SAME_VALUES = False


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ self.weight
            self.weight.data.mul_(0.5)
            return y @ self.weight  # stops here


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ self.weight
        self.weight.data.mul_(0.5)
        with torch.autocast("cpu", torch.bfloat16):
            return y @ self.weight


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
