"""Repeating rows by counts from the data

The result has as many rows as the counts add up to, which only a run knows.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked", "operators")


class Module(nn.Module):
    def forward(self, x: Tensor, counts: Tensor) -> Tensor:
        return torch.repeat_interleave(x, counts, dim=0) * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 2), torch.tensor([1, 2, 0]))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(3, 2), torch.tensor([2, 2, 2]))]
