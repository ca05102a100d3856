"""A parametrized weight

`torch.nn.utils.parametrizations` computes the weight in each call; the computation is in the program.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

TAGS = ("modules", "parameters")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = weight_norm(nn.Linear(3, 2))

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
