"""Leaving grad mode switched off

After forward, grad mode would be off for everything that follows. As a context manager the change ends with the block,
and the block is recorded in the program.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "grad-mode")
ERROR = "global-state"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        torch.set_grad_enabled(False)
        return x * 2


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return x * 2


def eager(module: nn.Module, x: Tensor) -> Tensor:
    with torch.set_grad_enabled(True):
        return module(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
