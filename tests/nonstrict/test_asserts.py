"""strict=False: what an `assert` asks of numbers that only run time knows, and min() and max() of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import DataDependent
from tests.nonstrict.assert_programs import asserts, asserts_both_bounds, clamps, handles, only_raises


class Calls(nn.Module):
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x: torch.Tensor) -> Any:
        return self.fn(x)


@pytest.mark.parametrize("fn", [asserts, asserts_both_bounds, only_raises])
def test_an_assert_is_one_of_the_program(fn: Callable[..., Any]) -> None:
    run = dynamo_lite.export(Calls(fn), (torch.tensor([1, 4]),), strict=False).module()
    x = torch.tensor([7, 2])
    torch.testing.assert_close(run(x), fn(x))
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u"):
        run(torch.tensor([-7, -2]))


def test_an_assert_that_the_program_may_catch_is_refused() -> None:
    with pytest.raises(DataDependent):
        dynamo_lite.export(Calls(handles), (torch.tensor([1, 4]),), strict=False)


@pytest.mark.parametrize("strict", [True, False])
def test_min_and_max_stay_symbolic(strict: bool) -> None:
    run = dynamo_lite.export(Calls(clamps), (torch.tensor([1, 4]),), strict=strict).module()
    for numbers in ([7, 2], [-3, -4], [0, 1]):
        x = torch.tensor(numbers)
        torch.testing.assert_close(run(x), clamps(x))


def test_min_of_sizes_is_no_condition() -> None:
    mod = Calls(lambda x: x[: min(x.shape[0], 3)] * max(x.shape[0], 4))
    shapes = {"x": {0: torch.export.Dim("n")}}
    run = dynamo_lite.export(mod, (torch.rand(5),), dynamic_shapes=shapes, strict=False).module()
    for n in (2, 3, 4, 9):
        x = torch.rand(n)
        torch.testing.assert_close(run(x), mod(x))
