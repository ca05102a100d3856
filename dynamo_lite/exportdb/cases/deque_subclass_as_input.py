"""A subclass of deque as an argument

What a deque holds is neither an attribute nor an item by key, so its elements would be lost on the way. A subclass of
list keeps them.
"""

from __future__ import annotations

from collections import deque

import torch
from torch import Tensor, nn

TAGS = ("inputs", "containers", "pytree", "classes")
ERROR = "unsupported-value"


class History(deque[Tensor]):
    pass


class ListHistory(list[Tensor]):
    pass


class Module(nn.Module):
    def forward(self, history: History) -> Tensor:
        return torch.stack([*history]).sum(0)


class Rewrite(nn.Module):
    def forward(self, history: ListHistory) -> Tensor:
        return torch.stack([*history]).sum(0)


def inputs() -> tuple[History]:
    return (History([torch.randn(3), torch.randn(3)]),)


def rewrite_inputs() -> tuple[ListHistory]:
    return (ListHistory([torch.randn(3), torch.randn(3)]),)
