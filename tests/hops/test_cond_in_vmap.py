"""torch.cond inside of torch.vmap. The oracle is Python's `if` on each element: torch cannot run them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite

Cond = Callable[..., Any]


def decided(pred: Tensor, true: Any, false: Any, operands: Any) -> Any:
    """torch.cond as eager Python has it."""
    return true(*operands) if bool(pred) else false(*operands)


def one_for_all(cond: Cond, x: Tensor, p: Tensor) -> Any:
    return lambda row: cond(p, lambda r: r.sin(), lambda r: r.cos(), (row,))


def per_element(cond: Cond, x: Tensor, p: Tensor) -> Any:
    return lambda row: cond(row.sum() > 0, lambda r: (r.sin(), r.sum()), lambda r: (r.cos(), r.prod()), (row,))


def closed_over(cond: Cond, x: Tensor, p: Tensor) -> Any:
    def each(row: Tensor) -> Any:
        twice, weight = row * 2, x[0]
        return cond(p, lambda r: (r + twice, weight * 3), lambda r: (r * twice, weight + 1), (row,))

    return each


def unbatched_result(cond: Cond, x: Tensor, p: Tensor) -> Any:
    return lambda row: cond(p, lambda r: r + 1, lambda r: torch.ones(4), (row,))


def used_afterwards(cond: Cond, x: Tensor, p: Tensor) -> Any:
    return lambda row: (cond(p, lambda r: r.sin(), lambda r: r.cos(), (row,)) * row).sum()


def in_a_branch(cond: Cond, x: Tensor, p: Tensor) -> Any:
    def inner(r: Tensor) -> Any:
        return cond(p.logical_not(), lambda r: r - 1, lambda r: r - 2, (r,))

    return lambda row: cond(p, inner, lambda r: r * 5, (row,))


EACH = [one_for_all, per_element, closed_over, unbatched_result, used_afterwards, in_a_branch]


class Program(nn.Module):
    def __init__(self, each: Any) -> None:
        super().__init__()
        self.each = each

    def forward(self, x: Tensor, p: Tensor) -> Any:
        return torch.vmap(self.each(torch.cond, x, p))(x)


def by_hand(each: Any, x: Tensor, p: Tensor) -> Any:
    rows = [each(decided, x, p)(row) for row in x]
    return tuple(map(torch.stack, zip(*rows))) if isinstance(rows[0], tuple) else torch.stack(rows)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("each", EACH)
def test_it_equals_a_choice_for_each_element(each: Any, dynamic: bool) -> None:
    shapes = {"x": {0: torch.export.Dim("rows")}, "p": None} if dynamic else None
    program = dynamo_lite.export(Program(each), (torch.randn(3, 4), torch.tensor(True)), dynamic_shapes=shapes)
    for p in (True, False):
        x = torch.randn(6 if dynamic else 3, 4)
        result, expected = program.module()(x, torch.tensor(p)), by_hand(each, x, torch.tensor(p))
        torch.testing.assert_close(result, expected)


def test_two_transforms() -> None:
    class Pairs(nn.Module):
        def forward(self, x: Tensor, y: Tensor, p: Tensor) -> Tensor:
            def each(a: Tensor, b: Tensor) -> Any:
                return torch.cond(p, lambda a, b: a * b, lambda a, b: a - b.sum(), (a, b))

            return torch.vmap(torch.vmap(each, (None, 0)), (0, None), out_dims=1)(x, y)

    x, y = torch.randn(3, 2), torch.randn(5, 2)
    program = dynamo_lite.export(Pairs(), (x, y, torch.tensor(True)))
    for p in (True, False):
        rows = [torch.stack([a * b if p else a - b.sum() for b in y]) for a in x]
        torch.testing.assert_close(program.module()(x, y, torch.tensor(p)), torch.stack(rows, 1))


def test_one_predicate_stays_a_cond() -> None:
    program = dynamo_lite.export(Program(one_for_all), (torch.randn(3, 4), torch.tensor(True)))
    assert [str(node.target) for node in program.graph.nodes].count("cond") == 1


def test_gradients_reach_through_it() -> None:
    x, p = torch.randn(3, 4), torch.tensor(True)
    program = dynamo_lite.export(Program(used_afterwards), (x, p)).module()
    ours, by_hand_too = x.clone().requires_grad_(), x.clone().requires_grad_()
    program(ours, p).sum().backward()
    by_hand(used_afterwards, by_hand_too, p).sum().backward()
    torch.testing.assert_close(ours.grad, by_hand_too.grad)


def test_results_that_differ_are_refused() -> None:
    def each(cond: Cond, x: Tensor, p: Tensor) -> Any:
        return lambda row: cond(row.sum() > 0, lambda r: r, lambda r: r.sum(), (row,))

    with pytest.raises(dynamo_lite.errors.DynamoLiteError, match="cond-mismatch"):
        dynamo_lite.export(Program(each), (torch.randn(3, 4), torch.tensor(True)))


def test_effects_are_refused() -> None:
    seen: list[int] = []

    def each(cond: Cond, x: Tensor, p: Tensor) -> Any:
        def noted(r: Tensor) -> Tensor:
            seen.append(1)
            return r + 1

        return lambda row: cond(row.sum() > 0, noted, lambda r: r - 1, (row,))

    with pytest.raises(dynamo_lite.errors.DynamoLiteError, match="subgraph-effect"):
        dynamo_lite.export(Program(each), (torch.randn(3, 4), torch.tensor(True)))
    assert not seen


def test_below_gradients_it_is_refused() -> None:
    def slope(x: Tensor, p: Tensor) -> Any:
        return torch.func.grad(lambda y: torch.cond(p, lambda r: r.sin().sum(), lambda r: r.cos().sum(), (y,)))(x)

    with pytest.raises(dynamo_lite.errors.DynamoLiteError, match="control-flow-in-transform"):
        dynamo_lite.export(slope, (torch.randn(4), torch.tensor(True)))
