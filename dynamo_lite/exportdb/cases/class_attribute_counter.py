"""A counter on the class

All instances share a class attribute, so a change of it is an effect like one on the module. State of the computation
belongs into a buffer, which each instance has for itself.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "python", "classes")
ERROR = "python-state"


class Module(nn.Module):
    calls = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).calls = 0

    def forward(self, x: Tensor) -> Tensor:
        type(self).calls += 1  # stops here
        return x + self.calls


class Rewrite(nn.Module):
    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x + self.calls


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
