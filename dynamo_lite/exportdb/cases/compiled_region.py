"""A region that is compiled once

`nested_compile_region` marks a function that is used many times; its sub-graph is in the program.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.compile", "control-flow")


@torch.compiler.nested_compile_region
def block(x: Tensor) -> Tensor:
    return x.sin() + 1


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return block(block(x))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
