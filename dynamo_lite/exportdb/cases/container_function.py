"""A registered function that changes what it takes apart

Export takes containers apart and makes them with the functions that are registered for them. They may run any Python
and any operator, but may not raise or change tensors: the caller's would be changed by the export.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

TAGS = ("python", "containers", "pytree")
ERROR = "container-function"


class Pair:
    def __init__(self, left: Tensor, right: Tensor) -> None:
        self.left = left
        self.right = right


def flatten(pair: Pair) -> tuple[list[Tensor], None]:
    return [pair.left.mul_(1), pair.right], None  # stops here


def flatten_clean(pair: Pair) -> tuple[list[Tensor], None]:
    return [pair.left, pair.right], None


pytree.register_pytree_node(Pair, flatten, lambda parts, _: Pair(*parts))


class CleanPair(Pair):
    pass


pytree.register_pytree_node(CleanPair, flatten_clean, lambda parts, _: CleanPair(*parts))


class Module(nn.Module):
    def forward(self, pair: Pair) -> Tensor:
        return pair.left + pair.right


Rewrite = Module


def inputs() -> tuple[Any, ...]:
    return (Pair(torch.randn(3), torch.randn(3)),)


def rewrite_inputs() -> tuple[Any, ...]:
    return (CleanPair(torch.randn(3), torch.randn(3)),)
