"""A module compiled by torch.jit.script that changes its attributes

TorchScript runs its own code, whose operators are recorded. What it does besides is not seen, so that code that sets
attributes, changes lists or dicts of its module, or prints is refused. Call the Python module that it was made from.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules", "torch.jit")
ERROR = "script-module"


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * 2


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.jit.script(Scale())

    def forward(self, x: Tensor) -> Tensor:
        return self.scale(x) + 1  # stops here


class Plain(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.jit.script(Plain())

    def forward(self, x: Tensor) -> Tensor:
        return self.scale(x) + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
