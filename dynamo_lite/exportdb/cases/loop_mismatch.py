"""A while_loop whose body returns another dtype

What the body returns is what its next round takes: the same structure, dtype and rank.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch._higher_order_ops import while_loop

TAGS = ("control-flow", "dtype")
ERROR = "loop-mismatch"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return while_loop(lambda y: y.max() > 1, lambda y: ((y / 2).double(),), (x,))[0]  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return while_loop(lambda y: y.max() > 1, lambda y: (y / 2,), (x,))[0]


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return x / 16


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3) * 9,)
