"""Numbers, dtypes and type promotion

A Python number joins a tensor without changing its kind, in the program as in eager.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("dtype", "operators")


class Module(nn.Module):
    def forward(self, x: Tensor, n: Tensor) -> tuple[Tensor, Tensor]:
        return x.half() * 2 + 1, n * 2 / 3


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor([1, 2]))
