"""Assigning `.data` of an argument

The caller's tensor would get other memory. `copy_` writes the values into the memory that it has, which the program
does as well.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "tensors", "memory")
ERROR = "tensor-data-assigned"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x.data = x.data.clamp(min=0)  # stops here
        return x * 2


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x.copy_(x.clamp(min=0))
        return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
