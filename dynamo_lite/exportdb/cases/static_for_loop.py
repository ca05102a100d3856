"""A loop whose length is known

The loop runs during the trace; the program holds its steps one after the other.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("control-flow", "python")


class Module(nn.Module):
    def forward(self, x: Tensor) -> list[Tensor]:
        return [x + i for i in range(x.shape[0])]


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2),)
