"""Lists and tuples of sizes that only run time knows, compared: against eager on data that answers either way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import dynamo_lite

from .raising_programs import sizes_asserted, sizes_raised

DATA = [torch.tensor(v) for v in ([1.0, 2.0, -3.0], [1.0, 2.0, 3.0], [-1.0, -2.0, -3.0], [1.0, -2.0, 30.0])]


def picked(x: Tensor) -> tuple[Tensor, Tensor]:
    """As many as are positive; as many as are below 10."""
    return x[x > 0], x[x < 10]


ANSWERS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "sizes": lambda y, z: y.shape == z.shape,
    "other sizes": lambda y, z: y.shape != z.shape,
    "a tuple": lambda y, z: y.shape == (3,),
    "a list": lambda y, z: [y.shape[0], "n", None] == [z.shape[0], "n", None],
    "another constant": lambda y, z: [y.shape[0], "n"] == [z.shape[0], "m"],
    "another length": lambda y, z: (y.shape[0], 1) == (y.shape[0],),
    "a list and a tuple": lambda y, z: [y.shape[0]] == (y.shape[0],),
    "the same": lambda y, z: (y.shape[0], y.shape[0]) == (y.shape[0], len(y)),
    "two": lambda y, z: (y.shape[0], z.shape[0]) == (z.shape[0], 3),
    "a tensor": lambda y, z: [y.shape[0], 3] == [(z > 0).sum(), 3],
    "computed with": lambda y, z: (y.shape == z.shape) + 1,
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_the_answer_is_a_bool_of_the_run(name: str, dynamic: bool) -> None:
    def program(x: Tensor) -> Any:
        return ANSWERS[name](*picked(x))

    shapes = {"x": {0: torch.export.Dim("n", min=2)}} if dynamic else None
    run = dynamo_lite.export(program, (DATA[0],), dynamic_shapes=shapes).module()
    for x in DATA + ([torch.tensor([1.0, 2.0]), torch.ones(5)] if dynamic else []):
        assert run(x) == program(x)


@pytest.mark.parametrize("program", [sizes_asserted, sizes_raised])
def test_what_is_asserted_is_an_assertion_of_the_program(program: Callable[[Tensor], Tensor]) -> None:
    run = dynamo_lite.export(program, (DATA[1],)).module()
    torch.testing.assert_close(run(DATA[1] * 2), program(DATA[1] * 2))
    with pytest.raises(RuntimeError):
        run(DATA[0])


def branches(x: Tensor) -> Tensor:
    y, z = picked(x)
    return x + 1 if y.shape == z.shape else x * y.sum()


def test_a_branch_is_captured_or_refused() -> None:
    with pytest.raises(dynamo_lite.errors.DataDependent, match=r"y\.shape"):
        dynamo_lite.export(branches, (DATA[0],), control_flow="refuse")
    run = dynamo_lite.export(branches, (DATA[0],), control_flow="capture").module()
    for x in DATA:
        torch.testing.assert_close(run(x), branches(x))
