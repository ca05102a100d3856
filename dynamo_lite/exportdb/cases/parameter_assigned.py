"""Replacing a parameter

A program knows its parameters by name and cannot put another tensor in their place. Write the new value into the
parameter.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "parameters")
ERROR = "parameter-assigned"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        self.weight = nn.Parameter(self.weight * 0.5, requires_grad=False)  # stops here
        return x * self.weight


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.weight.copy_(self.weight * 0.5)
        return x * self.weight


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
