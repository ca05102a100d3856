"""Results that have a size of 1 on one side of a branch only: what follows broadcasts on that side, as in eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from tests.control_flow.harness import same

Program = Callable[[Tensor, Tensor], Tensor]


def chosen_dimension(x: Tensor, t: Tensor) -> Tensor:
    dim = 0 if t.sum() > 0 else 1
    return x / x.norm(dim=dim, keepdim=True)


def statement(x: Tensor, t: Tensor) -> Tensor:
    if t.sum() > 0:
        y = x.sum(0, keepdim=True)
    else:
        y = x.sum(1, keepdim=True)
    return x + y


def expression(x: Tensor, t: Tensor) -> Tensor:
    y = x.sum(0, keepdim=True) if t.sum() > 0 else x
    z = y * 2
    return z - x


def one_row_or_all(x: Tensor, t: Tensor) -> Tensor:
    y = x
    if t.sum() > 0:
        y = x[:1]
    return (x * y).mean() + y.sum()


def keepdim_by_data(x: Tensor, t: Tensor) -> Tensor:
    keep = bool(t.sum() > 0)
    total = x.sum(0, keepdim=True) if keep else x.sum(1, keepdim=True)
    return x.softmax(0) + total.exp()


def in_a_loop(x: Tensor, t: Tensor) -> Tensor:
    for _ in range(2):
        dim = 0 if t.sum() > 0 else 1
        x = x / x.norm(dim=dim, keepdim=True)
        t = t - 1
    return x


def collected(x: Tensor, t: Tensor) -> Tensor:
    rows = []
    for row in x:
        part = row[:1] if t.sum() > 0 else row
        rows.append(part * row)
    return torch.stack(rows)


def nothing_is_broadcast(x: Tensor, t: Tensor) -> Tensor:
    y = x.sum(0, keepdim=True) if t.sum() > 0 else x.sum(1, keepdim=True)
    return y * 2


PROGRAMS = (
    chosen_dimension, statement, expression, one_row_or_all, keepdim_by_data, in_a_loop, collected,
    nothing_is_broadcast,
)  # fmt: skip


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_side_is_as_in_eager(program: Program, rows: int) -> None:
    """The size of the merged result was taken for that of the other operand, and each call raised an assertion."""
    exported = dynamo_lite.export(program, (torch.randn(rows, 3), torch.ones(2)))
    for module in (exported.module(), exported.run_decompositions().module()):
        for sign in (1, -1):
            x, t = torch.randn(rows, 3), torch.full((2,), float(sign))
            torch.testing.assert_close(module(x, t), program(x, t))


def test_gradients() -> None:
    module = dynamo_lite.export(statement, (torch.randn(3, 3, requires_grad=True), torch.ones(2))).module()
    for sign in (1, -1):
        t, found = torch.full((2,), float(sign)), []
        x = torch.arange(9.0).reshape(3, 3)
        for program in (module, statement):
            leaf = x.clone().requires_grad_()
            program(leaf, t).pow(2).sum().backward()
            found.append(leaf.grad)
        torch.testing.assert_close(found[0], found[1])


def of_elements(x: Tensor) -> Any:
    """How many elements there are is asked on the sides first."""
    if x.numel() == 0:
        return torch.empty(0)
    return x[x > 0]


def of_elements_behind(x: Tensor) -> Any:
    y = x[x > 0] * 2
    if y.shape[0] == 0:
        n = y.numel() + 1
    else:
        n = y.numel() + 2
    return n, y.numel()


def of_elements_at_one_size(x: Tensor) -> Any:
    y = x.reshape(-1, 1)
    total = y.sum() * y.numel() if y.shape[0] == 3 else y.mean() - y.numel()
    return total, y.numel()


@pytest.mark.parametrize("fn", [of_elements, of_elements_behind, of_elements_at_one_size])
def test_numbers_of_elements_are_those_of_each_side(fn: Callable[[Tensor], Any]) -> None:
    """torch keeps the number of elements with a tensor: that of one side may not be kept for the other."""
    module = dynamo_lite.export(fn, (torch.rand(8),), dynamic_shapes=({0: Dim("n", min=0, max=64)},)).module()
    for length in (0, 1, 3, 5, 8):
        given = torch.rand(length) - 0.3
        assert same(module(given), fn(given)), length


def test_a_layout_is_that_of_each_side() -> None:
    """Rows of a transposed tensor are contiguous if there is one; torch keeps that with the tensor, too."""

    def fn(x: Tensor) -> Any:
        y = x[:, x[0] > 0].t()
        if y.shape[0] == 1:
            layout = y.is_contiguous()
        else:
            layout = y.is_contiguous()
        return y * 1, layout

    with pytest.raises(GraphBreak, match="data-dependent-branch"):
        dynamo_lite.export(fn, (torch.rand(4, 8),))
