"""A result on which forward sets requires_grad

`requires_grad_()` is no operator: within forward it counts (torch.autograd.grad is recorded as what it computes), but a
program that returns such a tensor, or what was computed from it alone, would return one that does not require grad.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autograd", "effects")
ERROR = "made-leaf"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        features = x.relu().detach().requires_grad_()  # stops here
        return features * 2


class Rewrite(nn.Module):
    """The caller sets requires_grad on the result."""

    def forward(self, x: Tensor) -> Tensor:
        return x.relu().detach() * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
