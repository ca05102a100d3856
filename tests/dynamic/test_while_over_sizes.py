"""`while` loops over sizes become while_loop, and take every size; against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite
from tests.control_flow.harness import same
from tests.dynamic.every_size import SIZES, SPECS, Program, check, check_admitted, of
from tests.dynamic.while_programs import CAPTURED, NOT_CAPTURED


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
@pytest.mark.parametrize("program", CAPTURED, ids=lambda fn: fn.__name__)
def test_every_size(program: Program, spec: Any) -> None:
    module = dynamo_lite.export(program, (of(10),), dynamic_shapes=({0: spec},)).module()
    for rows in SIZES:
        check(program, module, rows)


@pytest.mark.parametrize("program", NOT_CAPTURED, ids=lambda fn: fn.__name__)
def test_iterations_of_the_example(program: Program) -> None:
    """What while_loop does not take has the example's rounds: a guard, and an error where more was promised."""
    module = dynamo_lite.export(program, (of(10),), dynamic_shapes=({0: Dim.AUTO},)).module()
    check(program, module, 10)
    check_admitted(program, module)
    with pytest.raises(dynamo_lite.errors.ConstraintViolation):
        dynamo_lite.export(program, (of(10),), dynamic_shapes=({0: Dim("rows", min=1, max=40)},))


def test_gradients_are_kept_where_they_can_be() -> None:
    """while_loop has no right gradient: where sizes are left to the program, rounds are the example's instead."""

    def decayed(x: torch.Tensor) -> torch.Tensor:
        i, total = 0, torch.zeros(3)
        while i < x.shape[0]:
            total = total * 0.5 + x[i]
            i += 1
        return total

    ours, theirs = of(10).requires_grad_(), of(10).requires_grad_()
    module = dynamo_lite.export(decayed, (of(10).requires_grad_(),), dynamic_shapes=({0: Dim.AUTO},)).module()
    module(ours).square().sum().backward()
    decayed(theirs).square().sum().backward()
    assert same(ours.grad, theirs.grad)
