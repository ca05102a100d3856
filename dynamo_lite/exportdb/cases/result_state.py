"""State that a returned container loses

The caller of a program gets containers that the registered unflatten function makes. What it does not restore is
another value than in eager, and the next step would go on with it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

TAGS = ("python", "containers", "pytree", "effects")
ERROR = "result-state"
SAME_VALUES = False  # the length is for the caller to set


class Window:
    """The last items of a sequence, and how many there were."""

    def __init__(self, items: Tensor) -> None:
        self.items = items
        self.length = items.shape[0]


pytree.register_pytree_node(Window, lambda value: ([value.items], None), lambda parts, _: Window(*parts))


class Module(nn.Module):
    def forward(self, window: Window, x: Tensor) -> Window:
        made = Window(torch.cat([window.items, x])[-4:])
        made.length = window.length + 1
        return made


class Rewrite(nn.Module):
    def forward(self, window: Window, x: Tensor) -> Window:
        return Window(torch.cat([window.items, x])[-4:])  # the caller counts


def inputs() -> tuple[Any, ...]:
    return Window(torch.randn(4)), torch.randn(1)
