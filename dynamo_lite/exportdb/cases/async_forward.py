"""An asynchronous forward

Calling it gives something to await, not a tensor. An ordinary function gives the tensor.
"""

from __future__ import annotations

import asyncio

import torch
from torch import Tensor, nn

TAGS = ("python", "async")
ERROR = "async-forward"


async def load(x: Tensor) -> Tensor:
    return x * 2


class Module(nn.Module):
    async def forward(self, x: Tensor) -> Tensor:
        return await load(x)


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return asyncio.run(module(x))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
