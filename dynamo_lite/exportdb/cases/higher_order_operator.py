"""A transform that is not captured

`torch.func.linearize` traces its function by itself, which a trace of ours cannot look into. `torch.func.jvp` gives
the same derivative by operators.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.func", "autograd")
ERROR = "higher-order-operator"


class Module(nn.Module):
    def forward(self, x: Tensor, direction: Tensor) -> Tensor:
        _, derivative = torch.func.linearize(torch.sin, x)  # stops here
        return derivative(direction)


class Rewrite(nn.Module):
    def forward(self, x: Tensor, direction: Tensor) -> Tensor:
        return torch.func.jvp(torch.sin, (x,), (direction,))[1]


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.randn(3))
