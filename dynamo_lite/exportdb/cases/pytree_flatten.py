"""Flattening a nested structure

`torch.utils._pytree` is Python and is interpreted like the rest.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

TAGS = ("python", "containers", "pytree")


class Module(nn.Module):
    def forward(self, x: dict[int, Tensor]) -> Tensor:
        leaves, spec = pytree.tree_flatten(x)
        doubled = pytree.tree_unflatten([leaf * 2 for leaf in leaves], spec)
        return doubled[1] + doubled[2]


def inputs() -> tuple[Any, ...]:
    return ({1: torch.randn(3), 2: torch.randn(3)},)
