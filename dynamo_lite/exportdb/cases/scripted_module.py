"""Exporting a ScriptModule

TorchScript has compiled the Python away, and there is nothing left to interpret. Export the module that it was made
from.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("call of export", "torchscript")
ERROR = "invalid-arguments"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(torch.jit.trace(module, (torch.randn(3),)), inputs())


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs())


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
