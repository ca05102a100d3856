"""functools.lru_cache

A cached function is looked into and interpreted where it has no answer yet; the cache itself is not filled by a trace.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor, nn

TAGS = ("python", "caching")


@lru_cache(maxsize=64)
def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * fibonacci(10)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
