"""A set as an argument

Sets have no order by which their elements could become inputs; the same holds for deques and other containers of C. A
tuple or a dict has one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("inputs", "containers", "pytree")
ERROR = "unsupported-value"


class Module(nn.Module):
    def forward(self, x: Tensor, dims: set[int]) -> Tensor:
        return x.sum(tuple(dims))


class Rewrite(nn.Module):
    def forward(self, x: Tensor, dims: tuple[int, ...]) -> Tensor:
        return x.sum(dims)


def inputs() -> tuple[Any, ...]:
    return (torch.randn(2, 3, 4), {0, 2})


def rewrite_inputs() -> tuple[Any, ...]:
    return (torch.randn(2, 3, 4), (0, 2))
