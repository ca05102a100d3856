"""Seeding inside of forward

`torch.manual_seed` changes the generator of the whole process, which outlives the call. Seed before the program is
called.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("random", "effects", "rng")
ERROR = "global-rng"
SAME_VALUES = False


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        torch.manual_seed(1)  # stops here
        return x + torch.rand(3)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.rand(3)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
