"""A scratch attribute on the module

What one call writes before it reads it, no later call can see. The write is dropped, and a note says so.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "python")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scratch: list[int] = []

    def forward(self, x: Tensor) -> Tensor:
        self.scratch = [n * n for n in range(4)]
        return x.sum() + sum(self.scratch)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 2),)
