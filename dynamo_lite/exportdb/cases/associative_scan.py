"""A cumulative operation as an operator

`associative_scan` combines neighbours by a function; cumulative sums, products and recurrences are of this kind.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch._higher_order_ops.associative_scan import associative_scan

TAGS = ("control-flow",)


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return associative_scan(lambda a, b: a * b + b, x, dim=0, combine_mode="generic")


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(5, 2),)
