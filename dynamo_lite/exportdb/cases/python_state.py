"""A counter on the module

The program adds one to an attribute on each call. A graph cannot change Python attributes, and a program that used the
value at export would be wrong from the second call on. A registered buffer is state that programs carry.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "python")
ERROR = "python-state"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def forward(self, x: Tensor) -> Tensor:
        self.steps += 1  # stops here
        return x * self.steps


class Rewrite(nn.Module):
    steps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        self.steps += 1
        return x * self.steps


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
