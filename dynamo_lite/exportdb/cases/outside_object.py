"""Reading from an open file

The file has a position that moves, and lies where no trace can put it back. Read it in `__init__`.
"""

from __future__ import annotations

import io

import torch
from torch import Tensor, nn

TAGS = ("effects", "files", "python")
ERROR = "outside-object"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.file = io.StringIO("2.5")

    def forward(self, x: Tensor) -> Tensor:
        return x * float(self.file.read())  # stops here


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = float(io.StringIO("2.5").read())

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
