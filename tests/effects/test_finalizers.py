"""Generators that the garbage collector ends in the middle of a trace: no business of the program's."""

from __future__ import annotations

import gc

import torch
from torch import nn

import dynamo_lite


class LeavesGenerators(nn.Module):
    """Begins to go through its parameters, again and again; the generators that are left lie in cycles."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            cycle: list[object] = [self.named_parameters()]
            cycle.append(cycle)
            next(cycle[0])  # type: ignore[call-overload]
            del cycle
            gc.collect()
        return self.layers[0](x) * next(self.parameters()).sum()


def test_a_generator_that_dies_during_the_trace_is_closed_quietly() -> None:
    module, x = LeavesGenerators(), torch.randn(2, 3)
    torch.testing.assert_close(dynamo_lite.export(module, (x,)).module()(x), module(x))
