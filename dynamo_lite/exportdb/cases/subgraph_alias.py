"""A branch of torch.cond that returns its operand

Results of a sub-graph have memory of their own, so that later in-place operators reach the same tensors whichever
branch ran. Return a clone.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "aliasing")
ERROR = "subgraph-alias"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: y, lambda y: y.cos(), (x,))  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.clone(), lambda y: y.cos(), (x,))


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return x


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3),)
