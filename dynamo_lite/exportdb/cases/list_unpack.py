"""Unpacking lists

Star expressions and tuple unpacking work on real lists.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("python", "containers")


class Module(nn.Module):
    def forward(self, args: list[Tensor]) -> Tensor:
        first, *middle, last = args
        pair = (first, *middle)
        return torch.cat(pair) * last.sum()


def inputs() -> tuple[Any, ...]:
    return ([torch.randn(3), torch.randn(2), torch.randn(1)],)
