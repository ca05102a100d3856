"""A backward pass in forward

`backward()` runs the autograd engine for its effect: it adds to `.grad` of the parameters, which outlives the call. A
function that returns its gradients says the same by operators.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autograd", "training", "effects")
ERROR = "backward-in-forward"


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
        (grad,) = torch.autograd.grad((x * self.weight).sin().sum(), [self.weight])
        return grad


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
