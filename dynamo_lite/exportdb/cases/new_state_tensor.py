"""Keeping a tensor for the next call in an attribute

The attribute would hold a tensor of this call when the next one starts. A registered buffer of the right shape is what
a program can read and write.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "buffers")
ERROR = "new-state-tensor"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        y = x if self.last is None else x + self.last
        self.last = y  # stops here
        return y


class Rewrite(nn.Module):
    last: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        y = x + self.last
        self.last.copy_(y)
        return y


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
