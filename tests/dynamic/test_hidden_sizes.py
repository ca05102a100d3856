"""A size of the call inside of a constant of the result: refused, since it would be the example's for every call."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import UnsupportedValue


class Part:
    def __init__(self, x: torch.Tensor, where: Any) -> None:
        self.x = x
        self.where = where


def test_a_size_in_a_slice() -> None:
    def program(x: torch.Tensor) -> Part:
        return Part(x, slice(0, x.shape[0]))

    with pytest.raises(UnsupportedValue, match=r"output\.where: .* no slice"):
        dynamo_lite.export(program, (torch.randn(4),), dynamic_shapes=({0: Dim.DYNAMIC},))
    (given, expected) = torch.randn(4), slice(0, 4)
    assert dynamo_lite.export(program, (given,)).module()(given).where == expected


def test_sizes_in_a_tuple_are_outputs() -> None:
    program = dynamo_lite.export(
        lambda x: Part(x, (0, x.shape[0])), (torch.randn(4),), dynamic_shapes=({0: Dim.DYNAMIC},)
    )
    assert program.module()(torch.randn(7)).where == (0, 7)
