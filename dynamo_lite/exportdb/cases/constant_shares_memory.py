"""Reading a buffer's memory through a numpy array

An array that shares memory with a registered buffer shows its value at the time of the export; a later change of the
buffer would not reach the program. (A tensor on that memory, `self.view = self.table[0]`, is fine: in the program it
is a view of the buffer.)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("state", "numpy")
ERROR = "constant-shares-memory"


class Module(nn.Module):
    table: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.ones(3))
        self.array = self.table.numpy()

    def forward(self, x: Tensor) -> Tensor:
        self.table.add_(1)
        return x + float(self.array[0])  # stops here


class Rewrite(nn.Module):
    table: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        self.table.add_(1)
        return x + self.table[0]


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
