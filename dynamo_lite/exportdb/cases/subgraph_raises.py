"""A branch of torch.cond that raises

A sub-graph gives a value for every input. Check what is known before the choice, and assert what is not as an
operator.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "exceptions")
ERROR = "subgraph-raises"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        def false_branch(y: Tensor) -> Tensor:
            raise ValueError("not positive")

        return torch.cond(x.sum() > 0, lambda y: y.sqrt(), false_branch, (x,))  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        torch._assert_async(x.sum() > 0, "not positive")
        return x.sqrt()


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return x.sqrt()


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3),)
