"""Numbers and strings among the outputs

A Python number in the result is a constant of the program.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("outputs",)


class Module(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int, float, bool]:
        return x * 2, x.dim() + 1, 0.5, True


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 2),)
