"""torch.equal and torch.allclose as bools of the run, against eager."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import dynamo_lite

NAN, INF = float("nan"), float("inf")
VALUES = [torch.tensor(v) for v in ([1.0, 2.0], [1.0, 2.05], [NAN, 2.0], [INF, 2.0], [-INF, 2.0], [0.0, -0.0])]

PROGRAMS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "equal": lambda x, y: torch.equal(x, y),
    "method": lambda x, y: x.equal(y),
    "other sizes": lambda x, y: x.equal(y[:1]),
    "allclose": lambda x, y: torch.allclose(x, y),
    "allclose, nan": lambda x, y: torch.allclose(x, y, equal_nan=True),
    "allclose, tolerances": lambda x, y: x.allclose(y, 0.0, 0.1),
    "integers": lambda x, y: torch.equal(x > 1, y > 1),
    "by keyword": lambda x, y: (torch.equal(input=x, other=y), torch.allclose(input=x, other=y)),
    "a number of it": lambda x, y: x + torch.equal(x, y),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_eager_on_all_pairs(name: str) -> None:
    program = PROGRAMS[name]
    run = dynamo_lite.export(program, (VALUES[0], VALUES[1])).module()
    for x, y in itertools.product(VALUES, VALUES):
        torch.testing.assert_close(run(x, y), program(x, y), equal_nan=True)


def test_a_branch_on_it_is_captured() -> None:
    def program(x: Tensor, y: Tensor) -> Tensor:
        return x + 1 if torch.equal(x, y) else x - y

    run = dynamo_lite.export(program, (VALUES[0], VALUES[1]), control_flow="capture").module()
    for x, y in itertools.product(VALUES, VALUES):
        torch.testing.assert_close(run(x, y), program(x, y), equal_nan=True)


def test_other_dtypes_are_refused() -> None:
    """Which the operators promote differently: torch.equal to a common dtype, torch.allclose not at all."""
    with pytest.raises(dynamo_lite.errors.DataDependent):
        dynamo_lite.export(lambda x: x.equal(x.int()), (VALUES[0],))
    with pytest.raises(RuntimeError, match="did not match"):
        dynamo_lite.export(lambda x: torch.allclose(x, x.double()), (VALUES[0],))
