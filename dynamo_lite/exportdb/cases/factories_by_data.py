"""Tensors whose length comes from the data

`arange`, `zeros` and others take numbers of a run as sizes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked", "torch._check", "factories")


class Module(nn.Module):
    def forward(self, count: Tensor) -> Tensor:
        n = int(count.item())
        torch._check(n >= 0)
        return torch.arange(n) * 2 + torch.zeros(n, dtype=torch.int64)


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor(4),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.tensor(7),), (torch.tensor(0),)]
