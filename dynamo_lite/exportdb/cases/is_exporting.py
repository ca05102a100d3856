"""Code that asks whether it is being exported

`torch.compiler.is_exporting()` is true during a trace. What a program does differently because of it is its own doing,
and a note says so.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("configuration", "python")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if torch.compiler.is_exporting():
            return x.square().sum()
        return (x * x).sum()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
