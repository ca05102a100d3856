"""Python's random numbers

Each call draws another number, and the program would repeat the one of the export. torch's random operators are a part
of the program and draw in each call.
"""

from __future__ import annotations

import random

import torch
from torch import Tensor, nn

TAGS = ("random", "python")
ERROR = "unrecordable-value"
SAME_VALUES = False


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        noise = random.random()
        return x + noise  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.rand(())


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
