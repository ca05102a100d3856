"""Writing into a view

The view and its base share memory, so the base changes as well. The program has the same in-place operator.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("aliasing", "in-place")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[:, 0].zero_()
        y.view(-1)[1:3].add_(10)
        return y


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
