"""Tree functions on an object that was not registered

`torch.utils._pytree` takes an object of an unregistered class for a leaf. Export registers the classes of
inputs, and from then on it would be taken apart: another answer. Name its parts, or register the class yourself.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

TAGS = ("python", "containers", "pytree")
ERROR = "registered-container"


class Pair:
    def __init__(self, left: Tensor, right: Tensor) -> None:
        self.left = left
        self.right = right


class Module(nn.Module):
    def forward(self, pair: Pair) -> Tensor:
        for part in pytree.tree_leaves([pair]):  # stops here
            assert isinstance(part, (Pair, Tensor))
        return pair.left + pair.right


class Rewrite(nn.Module):
    def forward(self, pair: Pair) -> Tensor:
        for part in pytree.tree_leaves([pair.left, pair.right]):
            assert isinstance(part, Tensor)
        return pair.left + pair.right


def inputs() -> tuple[Any, ...]:
    return (Pair(torch.randn(3), torch.randn(3)),)
