"""Reading a file in forward

What is in the file is not a part of the program, and may differ at each call. Read it in `__init__`.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor, nn

TAGS = ("effects", "files")
ERROR = "outside-world"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        files = os.listdir(os.path.dirname(__file__))  # stops here
        return x * min(len(files), 2)


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.files = os.listdir(os.path.dirname(__file__))

    def forward(self, x: Tensor) -> Tensor:
        return x * min(len(self.files), 2)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
