"""Asking whether an argument is a tensor of the model

Whether `x is self.table` holds for this call need not hold for the next, and a program has no tensor of the model that
it could compare with. Say it with a flag, which is a constant that the program checks. (Which arguments are one tensor
is checked on each call.)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("inputs", "aliasing")
ERROR = "input-identity"


class Module(nn.Module):
    table: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        if x is self.table:  # stops here
            return x * 2
        return x + self.table


class Rewrite(nn.Module):
    table: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.ones(3))

    def forward(self, x: Tensor, same: bool) -> Tensor:
        if same:
            return x * 2
        return x + self.table


def inputs() -> tuple[Any, ...]:
    return (torch.arange(3.0),)


def rewrite_inputs() -> tuple[Any, ...]:
    return (torch.arange(3.0), False)
