"""Programs that the tests name on command lines."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

print("a file may print")


class Net(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.linear = nn.Linear(4, width)

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return self.linear(x) * scale


class Branches(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x
        if x.max() > 3:
            return x + 1
        return -x


class Raises(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise KeyError("no such head")


class Nested(nn.Module):
    def forward(self, batch: dict[str, Any]) -> Tensor:
        return batch["ids"][0] + batch["ids"][1].sum()


net = Net(width=3)


def make() -> Net:
    return Net()


def double(x: Tensor) -> Tensor:
    return x * 2


def call() -> Any:
    return (torch.randn(2, 4),), {"scale": 2.0}
