"""Arithmetic of a tensor and a numpy array: numpy reads the tensor, so it is refused where eager has a result."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch
from torch import Tensor

import dynamo_lite
from dynamo_lite.errors import GraphBreak

OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("lt", "le", "eq", "ne", "ge", "gt", "and_", "or_", "xor", "lshift"),
)
ARRAYS = {
    "floats": np.array([1.0, 2.0, 3.0]),
    "whole numbers": np.array([1, 2, 3]),
    "a number": np.float64(2.5),
    "no dimensions": np.array(2.0),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("function", OPERATORS)
@pytest.mark.parametrize("order", ["tensor first", "array first"])
def test_equals_eager_or_is_refused(order: str, function: str, name: str) -> None:
    array, compute = ARRAYS[name], getattr(operator, function)

    def forward(x: Tensor) -> object:
        return compute(x, array) if order == "tensor first" else compute(array, x)

    x = torch.tensor([4.0, 5.0, 6.0])
    expected: object
    try:
        expected = forward(x)
    except Exception as error:
        expected = error
    try:
        found = dynamo_lite.export(forward, (x,)).module()(x)
    except GraphBreak as error:
        assert error.id == "data-dependent-value" and type(array) is np.ndarray  # numbers of numpy's are taken
        return
    except Exception as error:
        assert type(error) is type(expected)
        return
    assert type(found) is type(expected)
    torch.testing.assert_close(found, expected)
