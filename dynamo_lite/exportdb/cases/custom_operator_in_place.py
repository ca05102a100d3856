"""A custom operator that writes to an argument

`mutates_args` says which, and the program writes to it too.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("operators", "custom-operator", "in-place")


@torch.library.custom_op("exportdb::accumulate_", mutates_args=("total",))
def accumulate_(total: Tensor, x: Tensor) -> None:
    total.add_(x)


@accumulate_.register_fake
def _(total: Tensor, x: Tensor) -> None:
    return None


class Module(nn.Module):
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        accumulate_(self.total, x)
        return self.total * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
