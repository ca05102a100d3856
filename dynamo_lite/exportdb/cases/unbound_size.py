"""A relation of sizes that the program does not compute

Two masks of the same data pick equally many elements, which the operator after them relies on; but the size of the
first is not a value that the program keeps. Compute the indices from sizes that are known.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked")
ERROR = "unbound-size"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.combinations(x).sum(0)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        left, right = torch.triu_indices(x.shape[0], x.shape[0], 1)
        return torch.stack([x[left], x[right]], 1).sum(0)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4),)
