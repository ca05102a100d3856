"""Reading the statistics of an lru_cache

A trace looks into a cache but never fills it, so hits and misses are not those of eager. Do not compute with them.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor, nn

TAGS = ("effects", "python", "caching")
ERROR = "outside-object"


@lru_cache
def factor(n: int) -> int:
    return n * 2


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        n = factor(3)
        return x * n + factor.cache_info().currsize  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        n = factor(3)
        return x * n + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
