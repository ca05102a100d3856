"""A torch.Generator as an argument of an operator

A generator is an object with a state of its own, for which a program has no place. Without it the operator draws from
the default generator, which the caller can seed.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("random", "inputs")
ERROR = "generator-argument"
SAME_VALUES = False


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(3)

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.rand(3, generator=self.generator)  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.rand(3)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
