"""Converting a program that holds a dtype

`program.module().half()` converts parameters and buffers. A dtype among the arguments of an operator stays, and whether
the converted model would have another one there is not in the graph: `x.to(y.dtype)` and `x.to(torch.float32)` are the
same node. Convert the model before its export.
"""

from __future__ import annotations

import io

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("dtype", "after-export")
ERROR = "program-conversion"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return x.to(self.scale.dtype) * self.scale


class Rewrite(Module):
    def __init__(self) -> None:
        super().__init__()
        self.half()

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).float()


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(2, dtype=torch.int64),)


def export(module: nn.Module) -> ExportedProgram:
    program = dynamo_lite.export(module, inputs())
    file = io.BytesIO()
    dynamo_lite.save(program, file)
    file.seek(0)
    dynamo_lite.load(file).module().half()  # a file has no model that could be exported again
    return program


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs())
