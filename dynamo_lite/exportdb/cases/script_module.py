"""A module compiled by torch.jit.script

TorchScript runs its own code, and may change its module unseen. Call the Python module that it was made
from.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules", "torch.jit")
ERROR = "script-module"


class Scale(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.jit.script(Scale())

    def forward(self, x: Tensor) -> Tensor:
        return self.scale(x) + 1  # stops here


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = Scale()

    def forward(self, x: Tensor) -> Tensor:
        return self.scale(x) + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
