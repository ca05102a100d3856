"""A cached property of a module

The first read computes the value and keeps it in the instance; later ones find it. A second trace shows that nothing
else changes, so it exports, with a note.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor, nn

TAGS = ("python", "caching", "modules")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.width = 4

    @cached_property
    def scale(self) -> float:
        return float(self.width**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 4),)
