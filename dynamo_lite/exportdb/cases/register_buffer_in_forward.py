"""Registering a buffer in forward, anew in each call

Each call writes the buffer before it reads it, so no call sees what an earlier one left. It is not an input of the
program, and a note says that it is not kept.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "buffers", "modules")


class Module(nn.Module):
    mean: Tensor

    def forward(self, x: Tensor) -> Tensor:
        self.register_buffer("mean", x.mean(0))
        return x - self.mean


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
