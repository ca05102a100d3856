"""Results that have a size of 1 on one side of a branch only: what follows broadcasts on that side, as in eager."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import dynamo_lite

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
