"""Branches of torch.cond with another memory layout

The operator itself wants results that are laid out alike. `contiguous()` makes them so.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow")
ERROR = "higher-order-rejected"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.T.cos(), (x,))  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.T.cos().contiguous(), (x,))


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return x.sin()


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3, 3),)
