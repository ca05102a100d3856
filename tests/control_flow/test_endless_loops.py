"""A loop that only an exception ends is refused, whatever is asked of branches; asserting often is not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import dynamo_lite


def then_raise(x: Tensor) -> Tensor:
    while x.sum() < 5:
        x = x + 1
    raise ValueError("x")


def else_raise(x: Tensor) -> Tensor:
    while x.sum() < 5:
        x = x + 1
    else:
        raise RuntimeError
    return x


def within(x: Tensor) -> Tensor:
    while True:
        x = x + 1
        if x.max() < 9:
            raise ValueError


@pytest.mark.parametrize("asked", ["refuse", "capture"])
@pytest.mark.parametrize("program", [then_raise, else_raise, within])
def test_is_refused(program: Any, asked: Any) -> None:
    with pytest.raises(dynamo_lite.errors.DataDependent, match="no end but an exception"):
        dynamo_lite.export(program, (torch.ones(2),), control_flow=asked)


def test_many_assertions_are_recorded() -> None:
    def program(x: Tensor) -> Tensor:
        for i in range(600):
            if x[i % 2] <= 0:
                raise ValueError("not positive")
        return x * 2

    ep = dynamo_lite.export(program, (torch.ones(2),))
    assert sum("_assert_async" in str(node.target) for node in ep.graph.nodes) == 600
    with pytest.raises(RuntimeError, match="not positive"):
        ep.module()(-torch.ones(2))
