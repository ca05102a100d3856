"""Sets, comprehensions and the walrus

All of Python's containers and expressions are those of CPython.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "containers")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        dims = {d % x.dim() for d in (-1, 1, 3)}
        names = {name: len(name) for name in ("a", "bb") if (n := len(name)) > 0}
        return x.sum(tuple(sorted(dims))) * sum(names.values()) + n


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
