"""Activation checkpointing

What `torch.utils.checkpoint` runs is captured with the program; recomputing is the business of training, not of the
result.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

TAGS = ("modules", "memory")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return checkpoint(self.lin, x, use_reentrant=False)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
