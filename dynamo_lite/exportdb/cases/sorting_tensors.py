"""Sorting many tensors by their data

`sorted` compares, and each comparison is a branch. Up to 12 items are sorted by branches (`captured_sort`). Stacked
into one tensor any number of rows can be sorted by operators.
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
    return (torch.randn(20, 3),)
