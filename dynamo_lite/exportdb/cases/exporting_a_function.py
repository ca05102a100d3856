"""Exporting a function or a bound method

Any callable can be exported; the parameters are those of the module that a method is bound to.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

TAGS = ("call of export", "functions")


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x)

    def embed(self, x: Tensor) -> Tensor:
        return self.lin(x).tanh()


def Module() -> Callable[[Tensor], Tensor]:
    return Model().embed


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
