"""torch.autocast around a part of forward

The region is a sub-graph under autocast, with its device type and dtype.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("dtype", "context-managers")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.lin(x)
        return y.float()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 4),)
