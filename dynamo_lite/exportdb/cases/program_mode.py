"""Switching a program to the other mode

A program is one for training or one for evaluation where the module asks which of them it is in: dropout and batch norm
are other operators in each. Export the module in the mode that is wanted, or in each of them.
"""

from __future__ import annotations

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
    program = dynamo_lite.export(module, inputs())
    program.module().eval()
    return program


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs())
