"""torch.cond whose branches are methods

A branch may be a method, or a method of a submodule: what it reads of `self` becomes an operand of the branch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "modules")


class Shift(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.bias


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shift = Shift()

    def cosine(self, x: Tensor) -> Tensor:
        return self.shift(x).cos()

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, self.cosine, self.shift.forward, [x])


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(-torch.ones(3),)]
