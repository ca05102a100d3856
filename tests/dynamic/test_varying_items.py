"""Generators, map and filter over a number of items that varies, and what consumes them, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite
from tests.control_flow.harness import same
from tests.dynamic.every_size import SIZES, SPECS, Program, check, check_admitted, of
from tests.dynamic.varying_items import GO_ON, NOT_CAPTURED, PROGRAMS


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda fn: fn.__name__)
def test_every_size(program: Program, spec: Any) -> None:
    module = dynamo_lite.export(program, (of(10),), dynamic_shapes=({0: spec},)).module()
    for rows in SIZES:
        check(program, module, rows)


@pytest.mark.parametrize("program", NOT_CAPTURED, ids=lambda fn: fn.__name__)
def test_sizes_that_are_admitted(program: Program) -> None:
    """What is not captured has the example's number of items, and that is a guard."""
    ours, theirs = of(10), of(10)
    try:
        want = program(theirs)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            dynamo_lite.export(program, (ours,), dynamic_shapes=({0: Dim.AUTO},))
        return
    module = dynamo_lite.export(program, (ours,), dynamic_shapes=({0: Dim.AUTO},)).module()
    assert same(module(of(10)), want)
    check_admitted(program, module)


@pytest.mark.parametrize("program", GO_ON, ids=lambda fn: fn.__name__)
def test_generators_that_go_on(program: Program) -> None:
    """A generator that any(), a loop or zip() has taken items from gives the next ones, or that is refused."""
    try:
        module = dynamo_lite.export(program, (of(10),), dynamic_shapes=({0: Dim.AUTO},)).module()
    except dynamo_lite.errors.DataDependent as error:
        assert "a generator goes on" in str(error) or "it moves an iterator on that is held elsewhere" in str(error)
        return
    check_admitted(program, module)


def test_static_sizes_are_as_before() -> None:
    """Nothing of this is at work where no size varies: the graph is that of the list."""

    def of_generator(x: torch.Tensor) -> torch.Tensor:
        return torch.cat(list(c.sin() for c in x.split(4)))  # noqa: C400

    def of_list(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([c.sin() for c in x.split(4)])

    graphs = [dynamo_lite.export(fn, (of(10),)).graph_module.code for fn in (of_generator, of_list)]
    assert graphs[0] == graphs[1]
