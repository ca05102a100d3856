"""Generated programs with branches, chunks, pads, loops and lists over sizes, compared with eager at each size.

`python -m benchmarks.size_soundness --kind promised` runs thousands of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite

from .generated_captures import judge


def ours(module: nn.Module, args: tuple[Any, ...], dynamic_shapes: Any) -> Any:
    return dynamo_lite.export(module, args, dynamic_shapes=dynamic_shapes).module()


@pytest.mark.parametrize("seed", range(16))
def test_what_was_promised_is_taken(seed: int) -> None:
    verdict = judge(seed, ours, promised=True)
    assert verdict.kind in ("equal", "refused", "nothing"), verdict.text


@pytest.mark.parametrize("seed", range(100, 116))
def test_equals_eager_at_every_size_it_admits(seed: int) -> None:
    verdict = judge(seed, ours, promised=False)
    assert verdict.kind in ("equal", "nothing"), verdict.text


# -- found by it -----------------------------------------------------------------------------------------------------


def both_conditions(x: Tensor, y: Tensor) -> Tensor:
    if x.shape[0] > 1 and y.shape[0] < 7:
        x = torch.nn.functional.pad(x, (0, 0, 0, 1))
    return x * 2


def one_within_the_other(x: Tensor, y: Tensor) -> Tensor:
    if x.shape[0] > 1:
        if y.shape[0] < 7:
            x = x + 1
        else:
            x = x - 1
    return x * 2


def three_deep(x: Tensor, y: Tensor) -> Tensor:
    if x.shape[0] > 1:
        if y.shape[0] < 7:
            if x.shape[0] != 4:
                x = x + 1
            else:
                x = x + 2
        y = y + 1
    return x * 2 + y.sum()


def returned_from_within(x: Tensor, y: Tensor) -> Tensor:
    if x.shape[0] > 1:
        if y.shape[0] < 7:
            return x.cumsum(0)
        x = x + 1
    return x * 2


@pytest.mark.parametrize("run", [both_conditions, one_within_the_other, three_deep, returned_from_within])
@pytest.mark.parametrize("first", [Dim.AUTO, Dim("n", min=1)], ids=["auto", "named"])
@pytest.mark.parametrize("second", [Dim.AUTO, Dim("m", min=1)], ids=["auto", "named"])
def test_a_branch_around_another_is_not_lost(run: Callable[..., Tensor], first: Any, second: Any) -> None:
    """The run that compared the sides of the outer branch was ended by the inner one's, and its guard forgotten."""
    shapes = ({0: first}, {0: second})
    program = dynamo_lite.export(run, (torch.randn(8, 3), torch.randn(5, 2)), dynamic_shapes=shapes).module()
    taken = 0
    for n in (1, 2, 4, 8):
        for m in (1, 5, 6, 7, 9):
            x, y = torch.randn(n, 3), torch.randn(m, 2)
            try:
                got = program(x, y)
            except (AssertionError, dynamo_lite.program.InputMismatch):
                assert first is Dim.AUTO or second is Dim.AUTO
                continue
            taken += 1
            torch.testing.assert_close(got, run(x, y))
    assert taken >= 6
