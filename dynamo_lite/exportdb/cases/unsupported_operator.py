"""Finding the distinct elements

Operators whose result has as many rows as the data says are part of programs: their size is known at run time.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "operators", "unbacked")


class Module(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        values, counts = torch.unique(x, return_counts=True)
        return values * 2, counts.sum()


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor([1, 2, 2, 3]),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.tensor([4, 4, 4, 4]),)]
