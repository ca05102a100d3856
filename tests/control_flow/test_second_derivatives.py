"""Loops that are scans: gradients of any order and torch.func's transforms, through `program.module()`, as in eager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite


class Recurrent(nn.Module):
    """A state that a gate carries on, and a result of each iteration."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([0.7, -0.3]))

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        states = []
        for row in x:
            h = torch.tanh(h * self.weight + row) * h
            states.append(h * h)
        return h, torch.stack(states)


class Nested(Recurrent):
    """A branch on data within the iterations."""

    def forward(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        states = []
        for row in x:
            h = torch.sin(h * self.weight) if row.sum() > 0 else torch.cos(h + row * self.weight)
            states.append(h * row)
        return h, torch.stack(states)


MODELS = (Recurrent, Nested)
INPUTS = (torch.linspace(-1, 1, 10).reshape(5, 2), torch.tensor([0.3, -0.8]))


def exported(model: nn.Module) -> Any:
    program = dynamo_lite.export(model, INPUTS, dynamic_shapes={"x": {0: Dim("n", min=1)}, "h": None})
    assert "scan" in [str(node.target) for node in program.graph.nodes]
    return program


def derivatives(call: Callable[..., Any], weight: Tensor, rows: int) -> list[tuple[Tensor | None, ...]]:
    """Of order 1, 2 and 3."""
    x, h = INPUTS[0][:rows].clone().requires_grad_(), INPUTS[1].clone().requires_grad_()
    last, states = call(x, h)
    value, found = last.sum() + states.pow(2).sum(), []
    for _ in range(3):
        gradients = torch.autograd.grad(value, (x, h, weight), create_graph=True, allow_unused=True)
        found.append(gradients)
        value = sum((g.pow(2).sum() for g in gradients if g is not None), torch.zeros(()))
    return found


def assert_same(got: Sequence[Any], want: Sequence[Any]) -> None:
    assert [[g is None for g in row] for row in got] == [[g is None for g in row] for row in want]
    for rows in zip(got, want):
        torch.testing.assert_close(*(tuple(g for g in row if g is not None) for row in rows))


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("kind", MODELS)
def test_derivatives_of_three_orders(kind: type[Recurrent], rows: int) -> None:
    model = kind()
    module = exported(model).module()
    assert_same(derivatives(module, module.weight, rows), derivatives(model, model.weight, rows))


def test_after_save_and_load(tmp_path: Path) -> None:
    model = Recurrent()
    dynamo_lite.save(exported(model), tmp_path / "program.pt2")
    module = dynamo_lite.load(tmp_path / "program.pt2").module()
    assert_same(derivatives(module, module.weight, 4), derivatives(model, model.weight, 4))


@pytest.mark.parametrize("transform", [torch.func.jacrev, torch.func.jacfwd, torch.func.hessian])
def test_transforms_over_the_module(transform: Any) -> None:
    model = Recurrent()
    module = exported(model).module()
    x, h = INPUTS
    want, got = (transform(lambda h, call=call: call(x, h)[0])(h) for call in (model, module))
    torch.testing.assert_close(got, want)
    rows = torch.stack([h, h + 1, h - 1])
    want, got = (torch.vmap(lambda h, call=call: call(x, h)[1])(rows) for call in (model, module))
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("kind", MODELS)
def test_the_module_is_exported_again(kind: type[Recurrent]) -> None:
    """The loop stays a loop: for dynamo_lite, torch.export and torch.compile."""
    model = kind()
    module = exported(model).module()
    spec = {"x": {0: Dim("n", min=1)}, "h": None}
    again = dynamo_lite.export(module, INPUTS, dynamic_shapes=spec)
    assert "scan" in [str(node.target) for node in again.graph.nodes]
    for call in (again.module(), torch.compile(module, backend="eager")):
        with torch.no_grad():
            torch.testing.assert_close(call(INPUTS[0][:3], INPUTS[1]), model(INPUTS[0][:3], INPUTS[1]))


def test_without_a_round() -> None:
    program = dynamo_lite.export(
        Recurrent(), INPUTS, dynamic_shapes={"x": {0: Dim("n", min=1)}, "h": None}, strict=True
    )
    with pytest.raises(Exception, match="at least 1, given 0"):
        program.module()(torch.empty(0, 2), INPUTS[1])
