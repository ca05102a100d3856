"""Indexing by a number from the data

An index within bounds is what the program must know; a check says so.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked", "torch._check", "indexing")


class Module(nn.Module):
    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        i = int(index.item())
        torch._check(i >= 0)
        torch._check(i < x.shape[0])
        return x[i] * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2), torch.tensor(1))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(4, 2), torch.tensor(3))]
