"""An iterator that lives on from call to call

Each call takes the next element, and a program would repeat the one of the export. Make the iterator in forward, or
pass the element in.
"""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "python", "iterators")
ERROR = "outside-iterator"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rates = itertools.cycle([0.5, 0.25])

    def forward(self, x: Tensor) -> Tensor:
        return x * next(self.rates)  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor, rate: Tensor) -> Tensor:
        return x * rate


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)


def rewrite_inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor(0.5))
