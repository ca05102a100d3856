"""A context variable that stays set

A value set with `ContextVar.set` is still there after the call. Reset it with the token.
"""

from __future__ import annotations

from contextvars import ContextVar

import torch
from torch import Tensor, nn

TAGS = ("effects", "python", "contextvars")
ERROR = "global-state"


depth: ContextVar[int] = ContextVar("depth", default=0)


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        depth.set(depth.get() + 1)
        return x * depth.get()


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        token = depth.set(depth.get() + 1)
        try:
            return x * depth.get()
        finally:
            depth.reset(token)


def eager(module: nn.Module, x: Tensor) -> Tensor:
    result = module(x)
    depth.set(0)
    return result


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
