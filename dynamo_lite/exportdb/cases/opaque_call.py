"""Calling a function of a C extension

Nothing says what a function written in C reads and changes. Call it outside of forward and keep the result; or say
that it is pure, that its result is constant, or what it does in Python.
"""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor, nn

TAGS = ("opaque-call", "extensions")
ERROR = "opaque-call"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * ctypes.sizeof(ctypes.c_int32)  # stops here


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.width = ctypes.sizeof(ctypes.c_int32)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.width


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
