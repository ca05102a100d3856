"""Giving another version of a function

`dynamo_lite.substitute` says what to trace wherever the program calls a function, here one that asks a C extension.
"""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("opaque-call", "extensions")


def word_size() -> int:
    return ctypes.sizeof(ctypes.c_int32)


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * word_size()


def export(module: nn.Module) -> ExportedProgram:
    dynamo_lite.substitute(word_size, lambda: 4)
    return dynamo_lite.export(module, inputs())


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
