"""A lock that is taken and not released

The next call would find it taken, and wait for ever. Take and release it in forward, or leave it to the caller.
"""

from __future__ import annotations

import threading

import torch
from torch import Tensor, nn

TAGS = ("python", "threading", "effects")
ERROR = "lock-held"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.guards = [threading.Lock()]

    def forward(self, x: Tensor) -> Tensor:
        self.guards[0].acquire()  # stops here
        return x * 2


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.guards = [threading.Lock()]

    def forward(self, x: Tensor) -> Tensor:
        with self.guards[0]:
            return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
