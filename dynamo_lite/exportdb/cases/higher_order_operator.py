"""A backward pass in forward

`backward()` runs the autograd engine, which no operator shows, and adds to `.grad` of the parameters, which outlives
the call. A function that returns its gradients says the same by operators.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autograd", "training")
ERROR = "higher-order-operator"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        (x * self.weight).sin().sum().backward()  # stops here
        assert self.weight.grad is not None
        return self.weight.grad


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return torch.func.grad(lambda weight: (x * weight).sin().sum())(self.weight.detach())


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
