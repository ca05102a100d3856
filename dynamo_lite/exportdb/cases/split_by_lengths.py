"""Splitting by lengths from the data

The lengths are numbers of a run; how many there are is known. `torch._check` says that they are lengths and fit.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked", "torch._check")


class Module(nn.Module):
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        first, second = lengths.tolist()
        torch._check(first >= 0)
        torch._check(second >= 0)
        torch._check(first + second == x.shape[0])
        left, right = x.split([first, second])
        return left.sum(0) - right.sum(0)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(5, 2), torch.tensor([2, 3]))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(5, 2), torch.tensor([4, 1]))]
