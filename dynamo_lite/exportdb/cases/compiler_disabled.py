"""A function that the compiler is told to leave alone

`torch.compiler.disable` breaks the graph of torch.compile around a function. Here TorchDynamo is not at work: the
function, a bound method too, is captured like any other, which a note says. A custom operator (custom_operator) stays
one call that nothing looks into.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.compile", "torch.compiler.disable", "functions")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.compiler.disable(self.scaled)

    def scaled(self, x: Tensor) -> Tensor:
        return x * 3

    def forward(self, x: Tensor) -> Tensor:
        return self.scale(x) + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
