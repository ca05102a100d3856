"""A gradient computed in forward

`torch.func.grad` is applied during the trace: the program holds the operators of the gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.func", "autograd")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.func.grad(lambda y: (y.sin() * y).sum())(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
