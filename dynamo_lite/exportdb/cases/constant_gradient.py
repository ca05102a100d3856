"""A tensor that was computed from a parameter before the call

In eager the gradient of the result flows through `self.scaled` to the parameter. A program has that tensor as a
constant, which no gradient leaves.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autograd", "training")
ERROR = "constant-gradient"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.scaled = self.weight * 2

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scaled  # stops here


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * (self.weight * 2)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
