"""Setting torch's default dtype

The default dtype belongs to the process. Give the factories their dtype.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "dtype", "configuration")
ERROR = "process-state"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        torch.set_default_dtype(torch.float64)  # stops here
        return x + torch.ones(3)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.ones(3, dtype=torch.float64)


def eager(module: nn.Module, x: Tensor) -> Tensor:
    try:
        return module(x)
    finally:
        torch.set_default_dtype(torch.float32)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
