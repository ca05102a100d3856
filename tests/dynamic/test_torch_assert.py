"""torch._assert(condition, message): of a tensor a check in each call of the program, of a size what Python does."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite


class Positive(nn.Module):
    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.shape = shape

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._assert((x.sum() > 0).reshape(self.shape), "the sum must be positive")
        return x * 2


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "non-strict"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
@pytest.mark.parametrize("shapes", [None, ({0: Dim("n")},)], ids=["static", "dynamic"])
def test_of_a_tensor(strict: bool, shape: tuple[int, ...], shapes: Any) -> None:
    program = dynamo_lite.export(Positive(shape), (torch.ones(3),), strict=strict, dynamic_shapes=shapes)
    assert torch.ops.aten._assert_async.msg in [node.target for node in program.graph.nodes]
    assert torch.equal(program.module()(torch.ones(3)), torch.full((3,), 2.0))
    with pytest.raises(RuntimeError, match="the sum must be positive"):
        program.module()(-torch.ones(3))


class Message(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._assert(x.sum() > 0, message="by name")
        torch._assert(x.shape[0] > 1, "a size")
        return x * 2


def test_of_a_size_and_by_name() -> None:
    program = dynamo_lite.export(Message(), (torch.ones(3),), dynamic_shapes=({0: Dim("n", min=2)},)).module()
    assert torch.equal(program(torch.ones(5)), torch.full((5,), 2.0))
    with pytest.raises(RuntimeError, match="by name"):
        program(-torch.ones(5))
    with pytest.raises(AssertionError, match="a size"):
        dynamo_lite.export(Message(), (torch.ones(1),))


def test_of_several_elements_is_eagers_error() -> None:
    class Several(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch._assert(x > 0, "several")
            return x

    with pytest.raises((RuntimeError, dynamo_lite.errors.GraphBreak)):
        dynamo_lite.export(Several(), (torch.ones(3),))
