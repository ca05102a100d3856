"""Subscripts and operators with a number of data, within a handler that catches their errors: as eager, or refused.

The exported program has no handlers. Where a subscript may be out of range, a branch decides whether it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import DataDependent

Program = Callable[[Tensor, Tensor], Any]
NUMBERS = (-30, -5, -4, -1, 0, 1, 2, 3, 4, 5, 30)
X = torch.linspace(-2, 3, 24).reshape(4, 6)


def compare(program: Program, example: int) -> None:
    module = dynamo_lite.export(program, (X.clone(), torch.tensor(example))).module()
    for number in NUMBERS:
        expected = program(X.clone(), torch.tensor(number))
        torch.testing.assert_close(module(X.clone(), torch.tensor(number)), expected, rtol=0, atol=0)


def row(x: Tensor, n: Tensor) -> Tensor:
    try:
        y = x[n.item()]
    except IndexError:
        y = x[0]
    return y * 2


def row_of_tensor(x: Tensor, n: Tensor) -> Tensor:
    try:
        y = x[n]
    except IndexError:
        y = x.sum(0)
    return y


def returned(x: Tensor, n: Tensor) -> Tensor:
    try:
        return x[n] * 2
    except (IndexError, RuntimeError):
        return x[-1]


def with_else_and_finally(x: Tensor, n: Tensor) -> Tensor:
    try:
        y = x[n].sum()
    except IndexError:
        y = x.sum()
    else:
        y = y + 1
    finally:
        x = x + 1
    return y + x


def suppressed(x: Tensor, n: Tensor) -> Tensor:
    with contextlib.suppress(IndexError):
        x = x[n] + x
    return x


def of_list(x: Tensor, n: Tensor) -> Tensor:
    try:
        return [x, x * 2, x * 3][n.item()]
    except IndexError as error:
        return x * len(str(error))


def of_tuple_of_numbers(x: Tensor, n: Tensor) -> Tensor:
    try:
        y = x * (1, 2, 3)[n.item()]
    except IndexError:
        y = x[:1]
    return y.sum()


def slices(x: Tensor, n: Tensor) -> Tensor:
    """A slice raises nothing."""
    k = n.item()
    try:
        return x[:k].sum() + x[k:].sum() * 2 + x[k : k + 2].sum() * 3
    except RuntimeError:
        return x.sum()


CAPTURED: tuple[Program, ...] = (
    row, row_of_tensor, returned, with_else_and_finally, suppressed, of_list, of_tuple_of_numbers, slices,
)  # fmt: skip


@pytest.mark.parametrize("example", [1, 9])
@pytest.mark.parametrize("program", CAPTURED)
def test_captured_as_eager(program: Program, example: int) -> None:
    compare(program, example)


def test_a_dynamic_number_of_rows() -> None:
    shapes = ({0: torch.export.Dim("rows", min=1)}, None)
    module = dynamo_lite.export(row, (X, torch.tensor(1)), dynamic_shapes=shapes).module()
    for rows in (1, 2, 5):
        for number in NUMBERS:
            x = torch.randn(rows, 6)
            torch.testing.assert_close(module(x, torch.tensor(number)), row(x, torch.tensor(number)), rtol=0, atol=0)


REFUSED: dict[str, Program] = {
    "column": lambda x, n: x[:, n.item()],
    "select": lambda x, n: x.select(1, n.item()),
    "select_scatter": lambda x, n: x.select_scatter(x[0], 0, n.item()),
    "slice_scatter": lambda x, n: x.slice_scatter(x[:2], 0, n.item(), n.item() + 2),
    "expand": lambda x, n: x[:1].expand(n.item(), 6),
    "floor_divide": lambda x, n: torch.tensor([5]) // n.item(),
    "remainder": lambda x, n: torch.tensor([5]) % n.item(),
    "pow": lambda x, n: torch.tensor([2, 3]) ** n.item(),
    "store": lambda x, n: x.__setitem__(n.item(), 3.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_where_the_operator_may_raise(name: str) -> None:
    operation = REFUSED[name]

    def program(x: Tensor, n: Tensor) -> Any:
        try:
            y = operation(x, n)
        except (RuntimeError, IndexError, ZeroDivisionError):
            y = None
        return x if y is None else y

    with pytest.raises(DataDependent) as refusal:
        dynamo_lite.export(program, (X, torch.tensor(1)))
    assert refusal.value.id == "caught-operator-error"


def test_not_refused_where_it_is_checked() -> None:
    def program(x: Tensor, n: Tensor) -> Tensor:
        k = n.item()
        torch._check(k >= 0)
        torch._check(k < 4)
        try:
            return x.select(0, k) * 2
        except IndexError:
            return x[0]

    module = dynamo_lite.export(program, (X, torch.tensor(1))).module()
    for number in range(4):
        torch.testing.assert_close(module(X, torch.tensor(number)), X[number] * 2, rtol=0, atol=0)


def test_the_text_of_the_error_is_refused() -> None:
    def program(x: Tensor, n: Tensor) -> Tensor:
        try:
            return x[n].sum()
        except IndexError as error:
            return x.sum() * len(str(error))

    with pytest.raises(DataDependent, match="the message of the IndexError at line"):
        dynamo_lite.export(program, (X, torch.tensor(1)))


def test_gradients_through_both_ways() -> None:
    class Pick(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.linspace(-1, 1, 6))

        def forward(self, x: Tensor, n: Tensor) -> Tensor:
            try:
                y = (x * self.weight)[n]
            except IndexError:
                y = self.weight * 3
            return y.sum()

    module = Pick()
    run = dynamo_lite.export(module, (X, torch.tensor(1))).module()
    (own,) = run.parameters()
    for number in (2, 8, -7, -1):
        own.grad = module.weight.grad = None
        run(X, torch.tensor(number)).backward()
        module(X, torch.tensor(number)).backward()
        torch.testing.assert_close(own.grad, module.weight.grad, rtol=0, atol=0)
