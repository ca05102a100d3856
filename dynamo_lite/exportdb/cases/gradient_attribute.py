"""Reading `.grad` of a parameter

A parameter's gradient is what an earlier backward pass left; a program has no input for it. Pass the gradient in.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "tensors", "training")
ERROR = "tensor-attribute"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.weight.grad = torch.full((3,), 0.5)

    def forward(self, x: Tensor) -> Tensor:
        grad = self.weight.grad  # stops here
        assert grad is not None
        return x * grad


class Rewrite(nn.Module):
    def forward(self, x: Tensor, grad: Tensor) -> Tensor:
        return x * grad


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)


def rewrite_inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.full((3,), 0.5))
