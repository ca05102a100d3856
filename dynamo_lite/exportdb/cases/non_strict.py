"""Asking for strict=False

Every Python frame of a program is interpreted, so that nothing is missed. There is no other mode; what torch's non-
strict mode lets pass unseen is refused or carried.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("call of export",)
ERROR = "invalid-arguments"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), strict=False)


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs())


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
