"""Looking up a number from the data in a dictionary

A key is compared and hashed at once. A table as a tensor is indexed by an operator.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "python", "unbacked")
ERROR = "data-dependent-value"


class Module(nn.Module):
    def forward(self, x: Tensor, kind: Tensor) -> Tensor:
        scale = {0: 1.0, 1: 2.0}[int(kind.item())]  # stops here
        return x * scale


class Rewrite(nn.Module):
    def forward(self, x: Tensor, kind: Tensor) -> Tensor:
        return x * torch.tensor([1.0, 2.0]).index_select(0, kind.view(1))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor(1))
