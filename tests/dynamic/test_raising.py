"""A branch on data that does nothing but raise is an assertion of the program, unless the program may catch it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import dynamo_lite

from .raising_programs import BRANCH, RAISE

GOOD, BAD = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, -2.0, 3.0])


@pytest.fixture(autouse=True)
def validating(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.compile switches torch.distributions' checks off for the process (torch/_dynamo/eval_frame.py)."""
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)


@pytest.mark.parametrize("program", RAISE, ids=lambda fn: fn.__name__)
def test_raises_on_the_data_that_eager_raises_on(program: Callable[[Tensor], Tensor]) -> None:
    run = dynamo_lite.export(program, (GOOD,)).module()
    for x in (GOOD, GOOD * 2):
        torch.testing.assert_close(run(x), program(x))
    with pytest.raises(Exception):  # noqa: B017
        program(BAD)
    with pytest.raises(RuntimeError), torch.enable_grad():  # a program that raises leaves gradients as they were there
        run(BAD)


@pytest.mark.parametrize("program", BRANCH, ids=lambda fn: fn.__name__)
def test_what_the_program_may_catch_is_a_branch(program: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(dynamo_lite.errors.GraphBreak) as error:
        dynamo_lite.export(program, (GOOD,), control_flow="refuse")
    assert error.value.id == "data-dependent-branch"
