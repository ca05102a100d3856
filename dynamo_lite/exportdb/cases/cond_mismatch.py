"""torch.cond whose branches return different dtypes

What follows has to fit either result, so both branches return the same structure, dtype and device.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow")
ERROR = "cond-mismatch"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.round().long(), (x,))  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.round(), (x,))


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return x.sin()


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3),)
