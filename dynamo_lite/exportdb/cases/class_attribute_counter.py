"""A counter on the class

All instances share a class attribute, so a change of it is an effect like one on the module. State of the computation
belongs into a buffer.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "python", "classes")
ERROR = "python-state"


class Module(nn.Module):
    calls = 0

    def forward(self, x: Tensor) -> Tensor:
        type(self).calls += 1  # stops here
        return x + self.calls - self.calls


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 0


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
