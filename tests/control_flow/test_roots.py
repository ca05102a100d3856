"""math.sqrt of a number of the data: what eager refuses, the program refuses; the error names the user's line."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak


class Root(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ones(3) * math.sqrt(x.item())


class Caught(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            return torch.ones(3) * math.sqrt(x.item())
        except ValueError:
            return torch.zeros(3)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])
def test_a_negative_number_raises(dtype: torch.dtype) -> None:
    program = dynamo_lite.export(Root(), (torch.tensor(9, dtype=dtype),)).module()
    with pytest.raises(ValueError):
        Root()(torch.tensor(-4, dtype=dtype))
    with pytest.raises((ValueError, RuntimeError)):
        program(torch.tensor(-4, dtype=dtype))


def test_the_error_is_at_the_users_line() -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(Caught(), (torch.tensor(9.0),))
    assert "math_functions.py" not in str(caught.value)
    assert "(in forward)" in str(caught.value)
