"""Reading `.grad` of a parameter

A gradient that an earlier backward pass left is state: the program holds it as a buffer. Another tensor that is
assigned to `.grad` after the export is not read, which is noted.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "tensors", "training")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.weight.grad = torch.full((3,), 0.5)

    def forward(self, x: Tensor) -> Tensor:
        grad = self.weight.grad
        assert grad is not None
        return x * grad


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
