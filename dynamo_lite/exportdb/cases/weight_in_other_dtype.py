"""Casting weights in forward

A cast is an operator; the parameter stays as it is.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("dtype", "parameters")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        weight = self.lin.weight.to(torch.float64)
        return nn.functional.linear(x.double(), weight, self.lin.bias.double()).float()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
