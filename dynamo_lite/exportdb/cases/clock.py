"""The time of day in a computation

The clock's value at export would be frozen into the program. Pass the time in as an argument. (A time that is only
logged is no problem.)
"""

from __future__ import annotations

import time

import torch
from torch import Tensor, nn

TAGS = ("time", "python")
ERROR = "unrecordable-value"
SAME_VALUES = False


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        phase = time.time()
        return x * (phase % 2)  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor, phase: Tensor) -> Tensor:
        return x * (phase % 2)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)


def rewrite_inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor(1.5))
