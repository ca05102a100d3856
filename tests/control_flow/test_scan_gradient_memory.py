"""Whether torch can make the gradient of a loop is tried once for loops that are alike, and again for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.control_flow.loops import scan_gradient


class Layers(nn.Module):
    def __init__(self, *steps: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.steps = steps

    def forward(self, x: Tensor) -> Tensor:
        x = x * self.weight
        for step in self.steps:
            state, rows = torch.zeros_like(x[:, 0]), []
            for i in range(x.shape[1]):
                state = step(self.weight * state + x[:, i])
                rows.append(state)
            x = torch.stack(rows, 1)
        return x


@pytest.mark.parametrize(("steps", "tries"), [((torch.sigmoid, torch.sigmoid), 1), ((torch.sigmoid, torch.tanh), 2)])
def test_loops_that_are_alike_are_tried_once(
    steps: tuple[Any, ...], tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, tried = [], scan_gradient._raised
    monkeypatch.setattr(scan_gradient, "_known", {})
    monkeypatch.setattr(scan_gradient, "_raised", lambda *call: (asked.append(call), tried(*call))[1])
    module, x = Layers(*steps), torch.randn(2, 5, 4)
    program = dynamo_lite.export(module, (x,), dynamic_shapes=({1: torch.export.Dim.DYNAMIC},))
    assert len(asked) == tries
    torch.testing.assert_close(program.module()(x[:, :3]), module(x[:, :3]))
