"""`print(trace.guards)` and `print(trace.notes)`: what a user reads first."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import dynamo_lite


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.scale = nn.Linear(3, 3), 2.0

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 3:
            x = x * self.scale
        y: Tensor = self.layer(x)
        return y


def test_guards_and_notes_are_printed_with_their_lines() -> None:
    shapes = ({0: torch.export.Dim("n", min=1)},)
    trace = dynamo_lite.trace(Scaled(), (torch.randn(5, 3),), dynamic_shapes=shapes)
    lines = str(trace.guards).splitlines()
    assert lines[0] == f"{len(trace.guards)} guards" and repr(trace.guards) == f"<GuardSet: {len(trace.guards)} guards>"
    assert any("L['self'].scale == 2.0" in line and "x = x * self.scale" in line for line in lines)
    assert any("L['x']" in line and "float32" in line for line in lines)
    hidden = int(lines[-1].split()[1])
    assert len(lines) - 2 + hidden == len(trace.guards) and "types, code, weights" in lines[-1]
    (note,) = str(trace.notes).splitlines()
    assert note.startswith("- the branch on sizes at line") and f"({__file__}:" in note


def test_no_notes() -> None:
    assert str(dynamo_lite.trace(nn.ReLU(), (torch.randn(2),)).notes) == "no notes"
