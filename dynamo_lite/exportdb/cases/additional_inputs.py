"""Specifying sizes by further examples

`AdditionalInputs` collects calls; what differs between them is dynamic, and the program is checked to admit each.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("dynamic-shapes", "call of export")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(0) * 2


def export(module: nn.Module) -> ExportedProgram:
    more = torch.export.AdditionalInputs()
    more.add((torch.randn(7, 2),))
    return dynamo_lite.export(module, inputs(), dynamic_shapes=more)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 2),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(7, 2),), (torch.randn(12, 2),)]
