"""Switching a program whose model is gone to the other mode

A program is one for training or one for evaluation where the module reads which of them it is in: dropout and batch
norm are other operators in each. `program.module().eval()` exports the model again, which a loaded program has not got.
Switch it before saving, or export it in each mode.
"""

from __future__ import annotations

import io

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("training", "after-export")
ERROR = "program-mode"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x) * 2


class Rewrite(Module):
    def __init__(self) -> None:
        super().__init__()
        self.eval()


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(2),)


def export(module: nn.Module) -> ExportedProgram:
    file = io.BytesIO()
    dynamo_lite.save(dynamo_lite.export(module, inputs()), file)
    program = dynamo_lite.load(io.BytesIO(file.getvalue()))
    program.module().eval()
    return program


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs())
