"""torch.vmap over chosen dimensions

`in_dims` and `out_dims` say which dimensions are mapped; `None` shares an argument.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.func",)


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 2))

    def forward(self, x: Tensor, scale: Tensor) -> Tensor:
        return torch.vmap(lambda row, s: row @ self.weight * s, in_dims=(1, None), out_dims=1)(x, scale)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 4), torch.tensor(2.0))
