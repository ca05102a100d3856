"""A function that torch.compile is told to leave alone

`torch.compiler.disable` is for the compiler, which may break the graph there. A program has no such break, so the
function is captured, with a note.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.compile", "functions")


@torch.compiler.disable
def scaled(x: Tensor) -> Tensor:
    return x * 3


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return scaled(x) + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
