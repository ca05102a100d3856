"""Loops whose first iteration leaves a variable with another kind of value: it is run before the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import InputMismatch


def total(x: Tensor) -> Any:
    s = 0
    for row in x:
        s = s + row
    return s


def the_last(x: Tensor) -> Any:
    for i in range(x.shape[0]):
        last = x[i] * i
    return last


def state_that_is_none(x: Tensor) -> Any:
    h = None
    for row in x:
        h = row if h is None else torch.tanh(h + row)
    return h


def best_so_far(x: Tensor) -> Any:
    s, best = 0, None
    for row in x:
        s = s + row.sum()
        if best is None or row.sum() > best:
            best = row.sum()
    return s, best


def pairs(x: Tensor) -> Any:
    s = 0
    for i, (a, b) in enumerate(zip(x, x * 2)):
        for q in range(a.shape[0]):
            s = s + a[q] * b[q] * i
    return s


def backwards(x: Tensor) -> Any:
    s = 0.0
    for i in reversed(range(x.shape[0])):
        s = s * 0.5 + x[i]
    return s


def by_twos(x: Tensor) -> Any:
    s = 0
    for i in range(1, x.shape[0], 2):
        s = s + x[i] * i
    return s


def two_loops(x: Tensor) -> Any:
    s = 0
    for row in x:
        s = s + row
    t = 0
    for row in x:
        t = t + (row - s) ** 2
    return s, t


def growing(x: Tensor) -> Any:
    outs, s = [], 0
    for row in x:
        s = s + row
        outs.append(s)
    return torch.stack(outs)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(3, 3)

    def forward(self, x: Tensor) -> Any:
        state, outs = None, []
        for row in x:
            state = self.cell(row[None], state)
            outs.append(state[0])
        return torch.cat(outs), state


PROGRAMS: list[Callable[[Tensor], Any]] = [
    total, the_last, state_that_is_none, best_so_far, pairs, backwards, two_loops,
]  # fmt: skip
TWO_ROUNDS: list[Callable[[Tensor], Any]] = [growing, by_twos]
"""What needs more rows: a list that grows needs an iteration in the loop, too."""


def _exported(program: Callable[[Tensor], Any], dim: Any) -> Callable[[Tensor], Any]:
    torch.manual_seed(0)
    run: Callable[[Tensor], Any] = dynamo_lite.export(
        program, (torch.randn(4, 3),), dynamic_shapes=({0: dim},), control_flow="capture"
    ).module()
    return run


@pytest.mark.parametrize("least", [None, 1, 2])
@pytest.mark.parametrize("program", PROGRAMS)
def test_equals_eager(program: Callable[[Tensor], Any], least: int | None) -> None:
    run = _exported(program, Dim("n", max=50) if least is None else Dim("n", min=least, max=50))
    for n in (1, 2, 3, 7):
        if n >= (least or 1):
            x = torch.randn(n, 3)
            torch.testing.assert_close(run(x), program(x))


@pytest.mark.parametrize("program", TWO_ROUNDS)
def test_equals_eager_from_two_iterations_on(program: Callable[[Tensor], Any]) -> None:
    run = _exported(program, Dim("n", min=2, max=50))
    for n in (2, 3, 7):
        x = torch.randn(n, 3)
        torch.testing.assert_close(run(x), program(x))


def test_a_recurrent_cell_without_a_state() -> None:
    model = Recurrent()
    with torch.no_grad():
        run = _exported(model, Dim("n", min=2, max=50))
        for n in (2, 3, 7):
            x = torch.randn(n, 3)
            torch.testing.assert_close(run(x), model(x))


def test_no_round_is_refused() -> None:
    """Eager returns the number 0 then."""
    with pytest.raises(InputMismatch, match="at least 1"):
        _exported(total, Dim.AUTO)(torch.randn(0, 3))


def test_a_number_of_iterations_that_may_be_none_is_refused() -> None:
    def program(x: Tensor) -> Any:
        s = 0
        for at in torch.nonzero(x[:, 0] > 0):
            s = s + x[at[0]]
        return s

    with pytest.raises(dynamo_lite.errors.DataDependent, match="'s' different: 0 on one side"):
        dynamo_lite.export(program, (torch.randn(4, 3),), control_flow="capture")


def test_numbers_of_the_run_in_a_branch() -> None:
    """A float from item() is an operand of the sides as a tensor, even where an operator asks for it first."""

    def program(x: Tensor) -> Any:
        a, n = x.sum().item(), int(x[0].item())
        b = a * 2 if a > 0 else 1.5
        k = n * 2 if n > 2 else 1
        return x * b, x * k

    example = torch.tensor([5.0, 1.0])
    run = dynamo_lite.export(program, (example,), control_flow="capture").module()
    for x in (example, -example, torch.tensor([1.0, 3.0]), torch.tensor([4.0, -9.0])):
        torch.testing.assert_close(run(x), program(x))


def test_unlike_numbers() -> None:
    """An int and a float are no one number: the choice is carried on."""

    def program(x: Tensor) -> Any:
        total = 0
        if (number := x.sum().item()) > 0:
            total += number
        return x * total

    example = torch.tensor([5.0, 1.0])
    run = dynamo_lite.export(program, (example,), control_flow="capture").module()
    for x in (example, -example):
        torch.testing.assert_close(run(x), program(x))
