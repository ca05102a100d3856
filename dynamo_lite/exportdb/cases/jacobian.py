"""The Jacobian of a function

`torch.func.jacrev` is applied during the trace; nested transforms come down to operators as well.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.func", "autograd")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.func.jacrev(lambda y: y.sin() * y.sum())(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
