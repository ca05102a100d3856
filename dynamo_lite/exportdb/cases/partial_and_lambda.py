"""functools.partial, lambdas and callable objects

Whatever can be called is called as CPython calls it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor, nn

TAGS = ("python", "functions")


class Scale:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.factor


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        steps: list[Callable[[Tensor], Tensor]] = [Scale(2.0), functools.partial(torch.clamp, min=0.0), lambda y: y + 1]
        for step in steps:
            x = step(x)
        return x


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
