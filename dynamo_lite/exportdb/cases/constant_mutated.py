"""Changing the memory of a numpy array by an operator

A tensor from outside that forward changes in place is state: a buffer of the program. One on the memory of a numpy
array is not, since Python writes into that memory where no operator is seen. Register a tensor as a buffer instead.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "numpy")
ERROR = "constant-mutated"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = np.zeros(3, dtype=np.float32)

    def forward(self, x: Tensor) -> Tensor:
        total = torch.from_numpy(self.table)
        total.add_(x)  # stops here
        return total * 2


class Rewrite(nn.Module):
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(x)
        return self.total * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
