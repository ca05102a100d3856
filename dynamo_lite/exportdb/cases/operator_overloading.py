"""A class with its own operators

`__add__`, `__radd__`, `__getitem__`, `__iter__`, `__eq__` and the others are found and interpreted as CPython would.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "classes")


class Interval:
    def __init__(self, low: Tensor, high: Tensor) -> None:
        self.low, self.high = low, high

    def __add__(self, other: Interval | Tensor) -> Interval:
        if isinstance(other, Interval):
            return Interval(self.low + other.low, self.high + other.high)
        return Interval(self.low + other, self.high + other)

    def __rmul__(self, factor: float) -> Interval:
        return Interval(factor * self.low, factor * self.high)

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Tensor:
        return (self.low, self.high)[index]


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        total = 2.0 * (Interval(x, x + 1) + Interval(x, x) + x)
        return total[0] * total[1] * len(total)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
