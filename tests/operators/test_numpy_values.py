"""Functions of torch._numpy that give other values than numpy: replaced or refused. The oracle is numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dynamo_lite

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "cbrt": np.cbrt,
    "fix": np.fix,
    "sign": np.sign,
    "heaviside": lambda a: np.heaviside(a, 0.5),
    "round": lambda a: np.round(a, -1),
    "round_method": lambda a: a.round(-1),
    "trunc": np.trunc,
    "rint": np.rint,
    "nan_to_num": np.nan_to_num,
    "clip": lambda a: np.clip(a, -3, 3),
    "floor_divide": lambda a: a // -3,
    "remainder": lambda a: a % -3,
    "maximum": lambda a: np.maximum(a, 0),
    "sign_out": lambda a: np.sign(a, out=np.zeros_like(a)),
    "angle": np.angle,
    "unique": np.unique,
}
NUMBERS = {
    "floats": torch.tensor([[1.5, -2.5, 0.0, -0.0], [float("nan"), float("inf"), -float("inf"), -8.0]]),
    "doubles": torch.tensor([[1.75, -27.0], [0.5, float("nan")]], dtype=torch.float64),
    "integers": torch.tensor([[15, -25, 0, 7], [1, 4, -1, -8]]),
}


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_numpys(name: str, numbers: str) -> None:
    function, x = FUNCTIONS[name], NUMBERS[numbers]

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(function(x.numpy()))

    try:
        exported = dynamo_lite.export(program, (x,))
    except dynamo_lite.GraphBreak as refusal:
        assert refusal.id == "numpy-function" and name in ("round", "round_method", "angle", "unique", "trunc")
        return
    got, want = exported.module()(x), program(x)
    assert got.dtype == want.dtype
    assert torch.allclose(got, want, equal_nan=True)
