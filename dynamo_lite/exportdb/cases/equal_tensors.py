"""torch.equal in a condition

`torch.equal` and `torch.allclose` return a Python bool, so they read the data at once. Compared by elements and
reduced with `all()`, the answer stays a tensor.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "torch.equal")
ERROR = "data-dependent-value"


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        same = torch.equal(x, y)  # stops here
        return x if same else x - y


class Rewrite(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.where((x == y).all(), x, x - y)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.randn(3))
