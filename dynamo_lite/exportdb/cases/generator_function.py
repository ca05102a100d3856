"""Generators

A generator of the program is a real generator whose body the interpreter runs, so anything may consume it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

TAGS = ("python", "iterators")


def halves(x: Tensor, n: int) -> Iterator[Tensor]:
    for _ in range(n):
        x = x / 2
        yield x


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.stack(list(halves(x, 3))).sum(0) + sum(y * 2 for y in halves(x, 2))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
