"""In-place operators whose gradient needs the value that they changed, under torch.autograd.grad in forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import dynamo_lite

CHANGES: dict[str, Callable[[torch.Tensor], Any]] = {
    "pow": lambda y: y.pow_(3),
    "sin": lambda y: y.sin_(),
    "abs": lambda y: y.abs_(),
    "clamp": lambda y: y.clamp_(-0.5, 0.5),
    "silu": lambda y: F.silu(y, inplace=True),
    "cumprod": lambda y: y.cumprod_(0),
    "hypot": lambda y: y.hypot_(y.detach().clone()),
    "augmented power": lambda y: y.__ipow__(2),
    "several": lambda y: y.sin_().pow_(2).atan_(),
    "a row": lambda y: y[0].square_(),
    "a column, twice": lambda y: (y[:, 1].pow_(2), y[:, 1].cos_()),
    "a transposed view": lambda y: y.t().reciprocal_(),
    "two views": lambda y: (y[0].sin_().pow_(2), y[1].lgamma_()),
}


class Differentiated(nn.Module):
    def __init__(self, change: Callable[[torch.Tensor], Any], of_gradient: bool) -> None:
        super().__init__()
        self.change, self.of_gradient = change, of_gradient

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x * 1
        self.change(y)
        (gradient,) = torch.autograd.grad((y * y).sum(), x, create_graph=self.of_gradient)
        if self.of_gradient:
            (gradient,) = torch.autograd.grad((gradient * gradient).sum(), x)
        return gradient, y.detach()


def _input(seed: int, rows: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(rows, 4, generator=generator) * 2 + 0.1).requires_grad_()


@pytest.mark.parametrize("of_gradient", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("name", CHANGES)
def test_gradient_reads_the_value_before_the_change(name: str, of_gradient: bool) -> None:
    module = Differentiated(CHANGES[name], of_gradient)
    made = dynamo_lite.export(module, (_input(0),)).module()
    for seed in (0, 1):
        torch.testing.assert_close(made(_input(seed)), module(_input(seed)))


def test_dynamic_sizes_and_decompositions() -> None:
    module = Differentiated(lambda y: (y[0].pow_(3), F.silu(y, inplace=True)), False)
    program = dynamo_lite.export(module, (_input(0),), dynamic_shapes=({0: torch.export.Dim("n", min=2)},))
    for made in (program.module(), program.run_decompositions().module()):
        for rows in (3, 5):
            torch.testing.assert_close(made(_input(rows, rows)), module(_input(rows, rows)))


def test_a_failed_change_leaves_nothing() -> None:
    def change(y: torch.Tensor) -> None:
        try:
            y.hypot_(torch.ones(7))
        except RuntimeError:
            y.pow_(2)

    module = Differentiated(change, False)
    program = dynamo_lite.export(module, (_input(0),))
    torch.testing.assert_close(program.module()(_input(1)), module(_input(1)))
    targets = [str(node.target) for node in program.graph.nodes]
    assert not any("hypot" in target for target in targets)
    assert targets.count("aten.clone.default") == 1  # of pow_
