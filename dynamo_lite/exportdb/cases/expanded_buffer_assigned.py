"""Assigning a buffer that was expanded

The elements of an expanded tensor share memory. A program copies the new value into the buffer that is there, which has
no room for it. Register a clone.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "buffers", "aliasing")
ERROR = "expanded-buffer-assigned"


class Module(nn.Module):
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 3).expand(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.total = self.total + x  # stops here
        return self.total * 1


class Rewrite(nn.Module):
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 3).expand(2, 3).clone())

    def forward(self, x: Tensor) -> Tensor:
        self.total = self.total + x
        return self.total * 1


def inputs() -> tuple[Tensor]:
    return (torch.ones(2, 3),)
