"""A log that does not exist

`set_logs` and the variable DYNAMO_LITE_LOGS take the names of artifacts; a name that there is not is an error that
lists the close ones.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite
from dynamo_lite.logging.settings import set_logs

TAGS = ("configuration", "logging")
ERROR = "invalid-arguments"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def export(module: nn.Module) -> ExportedProgram:
    set_logs("grahp")
    return dynamo_lite.export(module, inputs())


def rewrite_export(module: nn.Module) -> ExportedProgram:
    set_logs("-graph")
    try:
        return dynamo_lite.export(module, inputs())
    finally:
        set_logs()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
