"""Dropout

In training mode the program draws from the default generator on each call, as eager does; in eval mode it is not
there.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules", "random", "training")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(8),)
