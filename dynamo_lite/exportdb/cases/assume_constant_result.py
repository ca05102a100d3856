"""A function whose result may be taken as a constant

`torch.compiler.assume_constant_result` promises that a function gives the same result each time, so it runs once,
natively, during the export.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("opaque-call", "constants")


@torch.compiler.assume_constant_result
def width() -> int:
    return int("3") + 1


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[: width()] * width()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(6),)
