"""A function that the compiler is told to leave alone

`torch.compiler.disable` breaks the graph of torch.compile around a function; a program has no such breaks. A custom
operator stays one call that nothing looks into; a function that may be looked into needs no mark.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.compile", "functions")
ERROR = "compiler-disabled"


@torch.compiler.disable
def scaled(x: Tensor) -> Tensor:
    return x * 3


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return scaled(x) + 1  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 3 + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
