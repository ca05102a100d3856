"""State that a registered container forgets

A program gets the parts of a container, not the object: what the registered functions leave out is lost. Where the
program reads such a part, and the argument has another value of it, the program would not be the one that eager runs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

TAGS = ("python", "containers", "pytree")
ERROR = "container-state"


class Scaled:
    def __init__(self, x: Tensor, scale: int = 1) -> None:
        self.x = x
        self.scale = scale


pytree.register_pytree_node(Scaled, lambda value: ([value.x], None), lambda parts, _: Scaled(*parts))


class Module(nn.Module):
    def forward(self, value: Scaled) -> Tensor:
        return value.x * value.scale  # stops here


class Rewrite(nn.Module):
    def forward(self, value: Scaled) -> Tensor:
        return value.x * 3


def inputs() -> tuple[Any, ...]:
    return (Scaled(torch.randn(3), 3),)
