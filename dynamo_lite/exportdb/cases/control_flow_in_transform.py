"""torch.cond inside of torch.vmap

Under a transform each tensor stands for a batch of them, or carries its derivative; a sub-graph holds plain tensors.
A choice per row is `torch.where`; a choice for all rows is torch.cond around the transform.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "torch.func")
ERROR = "control-flow-in-transform"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        def each(row: Tensor) -> Tensor:
            return torch.cond(row.sum() > 0, lambda r: r.sin(), lambda r: r.cos(), (row,))  # stops here

        return torch.vmap(each)(x)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.vmap(lambda row: torch.where(row.sum() > 0, row.sin(), row.cos()))(x)


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return torch.stack([row.sin() if row.sum() > 0 else row.cos() for row in x])


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor([[1.0, 2.0], [-1.0, -2.0]]),)
