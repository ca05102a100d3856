"""Raising an exception when the data is bad

A check of the kind "if anything is not finite, raise" branches on data. As an operator it becomes a part of the
program.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "assert", "exceptions")
ERROR = "data-dependent-branch"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if not torch.isfinite(x).all():  # stops here
            raise ValueError("the input is not finite")
        return x.softmax(-1)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        torch._assert_async(torch.isfinite(x).all(), "the input is not finite")
        return x.softmax(-1)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4),)
