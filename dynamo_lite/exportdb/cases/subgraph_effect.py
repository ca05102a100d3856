"""A branch of torch.cond that changes a list

Whether a branch runs is known at run time only, and the list lives at export. Return the value from both branches.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "effects")
ERROR = "subgraph-effect"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        seen: list[Tensor] = []

        def true_branch(y: Tensor) -> Tensor:
            seen.append(y)  # stops here
            return y.sin()

        result = torch.cond(x.sum() > 0, true_branch, lambda y: y.cos(), (x,))
        return result * 2


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        result, _ = torch.cond(x.sum() > 0, lambda y: (y.sin(), y.clone()), lambda y: (y.cos(), y * 0), (x,))
        return result * 2


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return x.sin() * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3),)
