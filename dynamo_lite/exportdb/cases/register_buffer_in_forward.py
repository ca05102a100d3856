"""Registering a buffer in forward

The buffer is state that the next call finds, and a program has the buffers that its module had at export. Register it
in `__init__`, and write it in forward.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "buffers", "modules")
ERROR = "new-state-tensor"


class Module(nn.Module):
    mean: Tensor

    def forward(self, x: Tensor) -> Tensor:
        self.register_buffer("mean", x.mean(0))  # stops here
        return x - self.mean


class Rewrite(nn.Module):
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.mean.copy_(x.mean(0))
        return x - self.mean


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
