"""A part of a packed container changed in place

The registered functions of this container pack its tensors into one. What the program gets is cut out of a copy, so a
change in place would not reach the caller's tensor. Return the new value.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

TAGS = ("python", "containers", "pytree")
ERROR = "container-mutated"


class Pair:
    def __init__(self, left: Tensor, right: Tensor) -> None:
        self.left = left
        self.right = right


def flatten(pair: Pair) -> tuple[list[Tensor], None]:
    return [torch.stack([pair.left, pair.right])], None


pytree.register_pytree_node(Pair, flatten, lambda parts, _: Pair(*next(iter(parts)).unbind(0)))


class Module(nn.Module):
    def forward(self, pair: Pair) -> Tensor:
        pair.left.add_(1)  # stops here
        return pair.left + pair.right


class Rewrite(nn.Module):
    def forward(self, pair: Pair) -> Tensor:
        return pair.left + 1 + pair.right


def inputs() -> tuple[Any, ...]:
    return (Pair(torch.randn(3), torch.randn(3)),)
