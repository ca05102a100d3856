"""Sorting a list of tensors by their data

`sorted` compares, and each comparison is a branch. Stacked into one tensor the rows can be sorted by operators.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "python", "builtins")
ERROR = "data-dependent-branch"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows = sorted(x.unbind(), key=lambda row: row.sum())  # stops here
        return torch.stack(rows)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[x.sum(-1).argsort()]


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 3),)
