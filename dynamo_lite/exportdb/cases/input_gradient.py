"""The gradient of an argument

`backward()` leaves it in `.grad` of the caller's tensor. An exported program returns values: return the gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autograd", "effects", "inputs")
ERROR = "input-gradient"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        (x * x).sum().backward()
        assert x.grad is not None
        return x.grad + 0


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        (gradient,) = torch.autograd.grad((x * x).sum(), x)
        return gradient


def inputs() -> tuple[Tensor, ...]:
    return (torch.arange(3.0, requires_grad=True),)
