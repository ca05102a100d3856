"""Exporting inside of a transform

Under `torch.vmap` the tensors that the function closes over are batched ones, which exist only while the transform
runs. Export the plain function, and apply the transform in it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("torch.func", "call of export")
ERROR = "opaque-transform"


class Module(nn.Module):
    def forward(self, rows: Tensor) -> Tensor:
        return torch.vmap(lambda row: row * 2)(rows)


def export(module: nn.Module) -> ExportedProgram:
    programs: list[ExportedProgram] = []

    def each(row: Tensor) -> Tensor:
        programs.append(dynamo_lite.export(lambda n: row * n, (2,)))
        return row

    torch.vmap(each)(*inputs())
    return programs[0]


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs())


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 3),)
