"""A result on which forward sets requires_grad

`requires_grad_()` is no operator: within forward it counts (torch.autograd.grad is recorded as what it computes), and
what is computed from such a tensor requires grad. The tensor itself is a leaf in eager, which no operator returns.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autograd", "effects")
ERROR = "made-leaf"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        features = x.relu().detach()
        return features.requires_grad_()  # stops here


class Rewrite(nn.Module):
    """The caller sets requires_grad on the result."""

    def forward(self, x: Tensor) -> Tensor:
        return x.relu().detach()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
