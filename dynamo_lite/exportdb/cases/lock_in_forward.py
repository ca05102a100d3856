"""A lock around a part of forward

Libraries guard their first-call initialisation by a lock. It is taken and released during the trace, and leaves
nothing.
"""

from __future__ import annotations

import threading

import torch
from torch import Tensor, nn

TAGS = ("python", "threading", "effects")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.guards = [threading.Lock()]

    def forward(self, x: Tensor) -> Tensor:
        with self.guards[0]:
            return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
