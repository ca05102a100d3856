"""Saying that a C function is pure

`dynamo_lite.allow` promises that a function's result depends on its arguments alone and that it changes nothing. It
then runs during the trace like Python's own functions.
"""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("opaque-call", "extensions")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * ctypes.alignment(ctypes.c_int16)


def export(module: nn.Module) -> ExportedProgram:
    dynamo_lite.allow(ctypes.alignment, pure=True)
    return dynamo_lite.export(module, inputs())


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
