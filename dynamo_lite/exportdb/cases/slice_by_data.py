"""Slicing up to a length from the data

The program must know that the length fits. One `torch._check` says so.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked", "torch._check", "indexing")


class Module(nn.Module):
    def forward(self, x: Tensor, length: Tensor) -> Tensor:
        n = int(length.item())
        torch._check(n >= 0)
        torch._check(n <= x.shape[0])
        return x[:n].sum(0)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(5, 2), torch.tensor(3))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(5, 2), torch.tensor(5)), (torch.randn(5, 2), torch.tensor(1))]
