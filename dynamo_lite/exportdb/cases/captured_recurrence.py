"""A loop over a dynamic length that stacks its states

`control_flow="capture"` makes a scan of a Python loop over the rows of a tensor: the state is carried from row to row,
and what each round appends to a list comes out stacked. The length stays dynamic, and gradients flow.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "dynamic-shapes", "call of export")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h, outs = torch.zeros(x.shape[1], 4), []
        for t in range(x.shape[0]):
            h = self.cell(x[t], h)
            outs.append(h)
        return torch.stack(outs, 1), h


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), dynamic_shapes={"x": {0: Dim.DYNAMIC}}, control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.ones(5, 2, 3),)


def other_inputs() -> list[tuple[Tensor]]:
    return [(torch.ones(1, 2, 3),), (torch.arange(48.0).reshape(8, 2, 3) / 48,)]
