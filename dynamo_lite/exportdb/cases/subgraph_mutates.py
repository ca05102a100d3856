"""A branch of torch.cond that writes to its operand

The graph around it reads the operand as it was. Return the new value.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "in-place")
ERROR = "subgraph-mutates"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        def true_branch(y: Tensor) -> Tensor:
            y.add_(1)  # stops here
            return y.sin()

        return torch.cond(x.sum() > 0, true_branch, lambda y: y.cos(), (x,))


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: (y + 1).sin(), lambda y: y.cos(), (x,))


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return (x + 1).sin()


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3),)
