"""What the programs about writes have in common: a module around a body, and objects to write into."""

# Programs as users write them, odd ones too.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

STATE = "python-state"


class Model(nn.Module):
    """`forward(x)` is `body(self, x)`; the keyword arguments become attributes."""

    def __init__(self, body: Callable[..., Any], **attributes: Any):
        super().__init__()
        self.body = body
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.body(self, x)


class Slots:
    __slots__ = ("n",)

    def __init__(self, n: int):
        self.n = n


class Plain:
    kind = 1

    def __init__(self, **attributes: Any):
        self.__dict__.update(attributes)
