"""Making a tensor into a subclass of Tensor

A subclass may override every operator, which a graph of ATen operators does not show. Use plain tensors in forward,
and functions for what the methods did.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("tensors", "classes")
ERROR = "tensor-subclass"


class Celsius(Tensor):
    pass


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        warm = x.as_subclass(Celsius)  # stops here
        return (warm + 1).as_subclass(Tensor)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
