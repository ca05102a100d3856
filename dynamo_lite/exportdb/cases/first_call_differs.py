"""A first call that does something else

What the first call computes is not what later calls compute, and one program cannot be both. Export the state that is
meant, or make the choice an argument.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("effects", "modules", "state")
ERROR = "python-state"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.warm = False

    def forward(self, x: Tensor) -> Tensor:
        scale = 1 if self.warm else 10
        self.warm = True  # stops here
        return x * scale


class Rewrite(nn.Module):
    def forward(self, x: Tensor, warm: bool) -> Tensor:
        return x * (1 if warm else 10)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)


def rewrite_inputs() -> tuple[Any, ...]:
    return (torch.randn(3), False)
