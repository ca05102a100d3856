"""Generators, map and filter over a number of items that varies, and what consumes them, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite
from tests.control_flow.harness import same
from tests.dynamic.varying_items import GO_ON, NOT_CAPTURED, PROGRAMS

_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 10, 13)


def _of(rows: int) -> torch.Tensor:
    return torch.randn(rows, 3, generator=torch.Generator().manual_seed(rows))


def _check(program: Callable[[Any], Any], module: Any, rows: int) -> None:
    ours, theirs = _of(rows), _of(rows)
    got, want = module(ours), program(theirs)
    assert same(got, want)
    assert same(ours, theirs)


@pytest.mark.parametrize("spec", [Dim.AUTO, Dim("rows", min=1, max=40)], ids=["auto", "named"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda fn: fn.__name__)
def test_every_size(program: Callable[[Any], Any], spec: Any) -> None:
    module = dynamo_lite.export(program, (_of(10),), dynamic_shapes=({0: spec},)).module()
    for rows in _SIZES:
        _check(program, module, rows)


@pytest.mark.parametrize("program", NOT_CAPTURED, ids=lambda fn: fn.__name__)
def test_sizes_that_are_admitted(program: Callable[[Any], Any]) -> None:
    """What is not captured has the example's number of items, and that is a guard."""
    ours, theirs = _of(10), _of(10)
    try:
        want = program(theirs)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            dynamo_lite.export(program, (ours,), dynamic_shapes=({0: Dim.AUTO},))
        return
    module = dynamo_lite.export(program, (ours,), dynamic_shapes=({0: Dim.AUTO},)).module()
    assert same(module(_of(10)), want)
    for rows in _SIZES:
        try:
            module(_of(rows))
        except (AssertionError, RuntimeError):
            continue
        _check(program, module, rows)


@pytest.mark.parametrize("program", GO_ON, ids=lambda fn: fn.__name__)
def test_generators_that_go_on(program: Callable[[Any], Any]) -> None:
    """A generator that any(), a loop or zip() has taken items from gives the next ones, or that is refused."""
    try:
        module = dynamo_lite.export(program, (_of(10),), dynamic_shapes=({0: Dim.AUTO},)).module()
    except dynamo_lite.errors.DataDependent as error:
        assert "a generator goes on" in str(error) or "it moves an iterator on that is held elsewhere" in str(error)
        return
    for rows in _SIZES:
        try:
            module(_of(rows))
        except (AssertionError, RuntimeError):
            assert rows != 10
            continue
        _check(program, module, rows)


def test_static_sizes_are_as_before() -> None:
    """Nothing of this is at work where no size varies: the graph is that of the list."""

    def of_generator(x: torch.Tensor) -> torch.Tensor:
        return torch.cat(list(c.sin() for c in x.split(4)))  # noqa: C400

    def of_list(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([c.sin() for c in x.split(4)])

    graphs = [dynamo_lite.export(fn, (_of(10),)).graph_module.code for fn in (of_generator, of_list)]
    assert graphs[0] == graphs[1]
