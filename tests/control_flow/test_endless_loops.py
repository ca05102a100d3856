"""A loop that only an exception ends is refused, whatever is asked of branches; asserting often is not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite import errors


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


class _GrowsWithoutBound(nn.Module):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        left = torch.ones(ids.shape[0])
        while left.max() > 0:
            ids = torch.cat([ids, ids[:, -1:] + 1], 1)
            left = left * (ids[:, -1] % 7 != 0)
        return ids


@pytest.mark.parametrize("sizes", [None, ({0: Dim.AUTO, 1: Dim.AUTO},)], ids=["static", "dynamic"])
def test_a_tensor_that_grows_without_a_bound_is_named(sizes: Any) -> None:
    """In words of the program, for sizes that vary too (it was said to use a tensor's text, which torch's rule did)."""
    with pytest.raises(errors.DataDependent) as caught:
        dynamo_lite.export(_GrowsWithoutBound(), (torch.ones(2, 5, dtype=torch.int64),), dynamic_shapes=sizes)
    text = str(caught.value)
    assert "branch-differs" in text and "a tensor of another shape after each iteration" in text
