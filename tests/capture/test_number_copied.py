"""`tensor.copy_(2)`: Python's binding of copy_ takes a number for a tensor. Oracle: eager, its buffer included."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite


class Copies(nn.Module):
    """Copies `value`, or the number of rows, into a buffer."""

    def __init__(self, value: Any, dtype: torch.dtype) -> None:
        super().__init__()
        self.register_buffer("number", torch.zeros(2, dtype=dtype))
        self.value = value

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.number.copy_(x.shape[0] if self.value is None else self.value)
        return x + self.number


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("value", [2, 2.5, True, None])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_a_number_is_copied(value: Any, dtype: torch.dtype, strict: bool) -> None:
    eager = Copies(value, dtype)
    shapes = ({0: Dim.DYNAMIC},) if value is None else None
    args = (torch.ones(3, 2),)
    try:
        program = dynamo_lite.export(copy.deepcopy(eager), args, dynamic_shapes=shapes, strict=strict)
    except dynamo_lite.ConstraintViolation:
        assert value is None  # the kernel takes a number
        program = dynamo_lite.export(copy.deepcopy(eager), args, strict=strict)
        shapes = None
    module = program.module()
    for rows in (3, 5) if shapes else (3,):
        x = torch.randn(rows, 2)
        torch.testing.assert_close(module(x), eager(x))
        torch.testing.assert_close(module.state_dict()["number"], eager.number)
