"""Copies that are views for some sizes, where the program changes one of the two in place.

The oracle is eager at each size that the program takes, for the program itself and for its decompositions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite

Run = Callable[[torch.Tensor], Any]


def the_base_is_used(x: torch.Tensor) -> Any:
    base = (x * 1).transpose(0, 1)
    flat = base.reshape(-1)
    flat.add_(1)
    return base * 2, flat


def the_base_is_returned(x: torch.Tensor) -> Any:
    base = x.sin().t()
    flat = base.flatten()
    flat.mul_(2)
    return base


def the_base_is_changed(x: torch.Tensor) -> Any:
    base = x.sin().t()
    flat = base.reshape(-1)
    base.zero_()
    return flat


def by_contiguous(x: torch.Tensor) -> Any:
    base = x.sin().t()
    plain = base.contiguous()
    plain.add_(1)
    return base.sum(), plain


def through_two(x: torch.Tensor) -> Any:
    base = x.sin().t()
    between = base.reshape(-1)
    last = between.view(3, -1).t().reshape(-1)
    last.add_(1)
    return base, between, last


def through_a_view(x: torch.Tensor) -> Any:
    base = x.sin().t()
    base.reshape(-1)[0].fill_(7.0)
    return base


def in_three_dimensions(x: torch.Tensor) -> Any:
    base = x.sin().unsqueeze(2).expand(-1, -1, 2).transpose(0, 1)
    rows = base.reshape(3, -1)
    rows[0] += 1
    return base


def only_the_copy_is_used(x: torch.Tensor) -> Any:
    flat = x.sin().t().reshape(-1)
    flat.add_(1)
    return flat * 2


def used_before(x: torch.Tensor) -> Any:
    base = x.sin().t()
    flat = base.reshape(-1)
    kept = base * 3
    flat.add_(1)
    return kept, flat


def changed_before(x: torch.Tensor) -> Any:
    base = x.sin().t()
    base.add_(1)
    return base.reshape(-1), base.cos()


TOLD_APART = [
    the_base_is_used, the_base_is_returned, the_base_is_changed, by_contiguous, through_two, through_a_view,
    in_three_dimensions,
]  # fmt: skip


def never_a_view(x: torch.Tensor) -> Any:
    base = x.sin()
    wide = base.unsqueeze(2).expand(-1, -1, 2).reshape(-1)
    wide.add_(1)
    return base, wide


ALIKE = [never_a_view, only_the_copy_is_used, used_before, changed_before]


def _agree(program: Any, run: Run, rows: int) -> None:
    x = torch.randn(rows, 3)
    for made in (program, program.run_decompositions()):
        got, want = made.module()(x.clone()), run(x.clone())
        torch.testing.assert_close(got, want, rtol=0, atol=0)


@pytest.mark.parametrize("run", TOLD_APART)
def test_a_size_at_which_it_is_a_view_is_not_taken(run: Run) -> None:
    program = dynamo_lite.export(run, (torch.ones(4, 3),), dynamic_shapes=({0: Dim.AUTO},))
    for rows in (2, 3, 4, 7):
        _agree(program, run, rows)
    with pytest.raises(Exception, match=r"at least 2|Guard failed"):
        program.module()(torch.ones(1, 3))


@pytest.mark.parametrize("run", TOLD_APART)
def test_a_promise_of_that_size_is_an_error_at_the_line(run: Run) -> None:
    with pytest.raises(dynamo_lite.ConstraintViolation, match="test_copies_or_views"):
        dynamo_lite.export(run, (torch.ones(4, 3),), dynamic_shapes=({0: Dim("rows", min=1)},))


@pytest.mark.parametrize("run", ALIKE)
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_nothing_is_asked_where_no_value_shows_it(run: Run, rows: int) -> None:
    program = dynamo_lite.export(run, (torch.ones(4, 3),), dynamic_shapes=({0: Dim("rows", min=1)},))
    _agree(program, run, rows)


def test_a_layout_of_an_input_for_which_it_is_a_view_is_not_taken() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        y.flatten().add_(1)
        return y

    program = dynamo_lite.export(run, (torch.zeros(3, 5).t(),))
    for made in (program, program.run_decompositions()):
        x = torch.randn(3, 5).t()
        torch.testing.assert_close(made.module()(x), run(x))
        with pytest.raises((AssertionError, RuntimeError)):
            made.module()(torch.randn(5, 3))
