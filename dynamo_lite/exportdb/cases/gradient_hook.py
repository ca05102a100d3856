"""A hook on a gradient, registered in forward

The hook runs in the backward pass, which a program does not hold: autograd differentiates its operators. What the hook
does to the gradient can be said by operators: here the value is `y`, and the gradient twice that of `y`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autograd", "training", "hooks")
ERROR = "gradient-hook"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.weight
        y.register_hook(lambda gradient: gradient * 2)  # stops here
        return y.sin()


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x * self.weight
        return (2 * y - y.detach()).sin()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
