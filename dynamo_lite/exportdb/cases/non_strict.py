"""strict=False: CPython runs the program

The capture is the same, and so is the program where both modes work. What strict refuses because a later call would
see it (here: a counter) is let pass, put back, and said in the notes: "unsound here because self.calls is changed".
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import dynamo_lite

TAGS = ("call of export", "effects", "state")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1  # no other line reads it
        return x * 2


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), strict=False)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
