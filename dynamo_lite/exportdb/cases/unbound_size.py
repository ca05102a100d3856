"""A relation of sizes that the program does not compute

A custom operator of several torch operators is one node. Two masks within it pick equally many elements, which its last
step relies on; but these numbers are not values that the program keeps. Compute the indices from sizes that are known.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked", "custom operators")
ERROR = "unbound-size"

LIBRARY = torch.library.Library("exportdb_unbound_size", "DEF")
LIBRARY.define("pairs(Tensor x) -> Tensor")


def pairs(x: Tensor) -> Tensor:
    n = x.shape[0]
    above = torch.ones(n, n, dtype=torch.bool).triu(1)
    return x[:, None].expand(n, n).masked_select(above) * x.expand(n, n).masked_select(above)


LIBRARY.impl("pairs", pairs, "CompositeImplicitAutograd")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.exportdb_unbound_size.pairs(x).sum(0)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        left, right = torch.triu_indices(x.shape[0], x.shape[0], 1)
        return (x[left] * x[right]).sum(0)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4),)
