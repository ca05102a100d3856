"""A counter in a closure

`nonlocal` changes a cell that lives on from call to call. Pass the number in and out instead.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "python", "closures")
ERROR = "python-state"


def make() -> Callable[[Tensor], Tensor]:
    calls = 0

    def forward(x: Tensor) -> Tensor:
        nonlocal calls
        calls += 1  # stops here
        return x * calls

    return forward


def Module() -> Callable[[Tensor], Tensor]:
    return make()


class Rewrite(nn.Module):
    def forward(self, x: Tensor, calls: Tensor) -> Tensor:
        return x * calls


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)


def rewrite_inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor(1))
