"""Two sides of a branch that leave what is no one value

With `control_flow="capture"` what the sides of a branch leave different comes out of a torch.cond: tensors of one
dtype, device and number of dimensions, numbers, containers of them with the same structure, and lists to which one side
adds. A dict with another key on one side has no such result, if forward returns it. (In a function that returns the sum
of its values, each side goes on to the end of the function, and on in its caller if need be: the dict is not merged.)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("data-dependent", "control-flow", "call of export")
ERROR = "branch-differs"


class Module(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        parts = {"whole": x}
        if x.sum() > 0:  # stops here
            parts["twice"] = x * 2
        return parts


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        parts = {"whole": x}
        if x.sum() > 0:
            parts["twice"] = x * 2
        else:
            parts["twice"] = torch.zeros_like(x)
        return parts


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def rewrite_export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), control_flow="capture")


def inputs() -> tuple[Tensor]:
    return (torch.ones(3, 2),)
