"""Global numbers and tensors

A global number is a constant of the program, a global tensor one of its lifted constants.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "globals", "state")


SCALE = {"value": 3.0}
TABLE = torch.arange(3.0)


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * SCALE["value"] + TABLE


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
