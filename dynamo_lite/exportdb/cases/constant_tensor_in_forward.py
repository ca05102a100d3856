"""torch.tensor(...) in forward

A tensor made from Python numbers is a constant that is lifted into the program.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("tensors", "constants")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        weights = torch.tensor([0.25, 0.5, 0.25], dtype=x.dtype)
        return (x * weights).sum(-1)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
