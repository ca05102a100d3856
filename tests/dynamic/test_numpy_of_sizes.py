"""numpy's functions of sizes: symbolic where their result goes to what takes it for a number, else the number.

And math.copysign and math.fabs, of which copysign asks for a sign only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.export import Dim

import dynamo_lite

SYMBOLIC: dict[str, Callable[[Tensor, Any], Tensor]] = {
    "ceil": lambda x, n: x * int(np.ceil(n / 128)),
    "ceil as float": lambda x, n: x * float(np.ceil(n / 128)),
    "ceil of int": lambda x, n: x * int(np.ceil(n)),
    "floor": lambda x, n: x * int(np.floor(n / 3)),
    "floor of negative": lambda x, n: x * int(np.floor(-n / 3)),
    "trunc": lambda x, n: x * int(np.trunc(-n / 2)),
    "round half to even": lambda x, n: x * int(np.round(n / 2)),
    "rint": lambda x, n: x * int(np.rint(n / 2)),
    "sqrt": lambda x, n: x * float(np.sqrt(n)),
    "ceil of sqrt": lambda x, n: x * int(np.ceil(np.sqrt(n))),
    "math.ceil": lambda x, n: x * math.ceil(np.sqrt(n)),
    "prod": lambda x, n: x * int(np.prod(x.shape)),
    "prod of a list": lambda x, n: x * int(np.prod([n, 4])),
    "sum": lambda x, n: x * int(np.sum((n, 3))),
    "max": lambda x, n: x * int(np.max([n, 6])),
    "min": lambda x, n: x * int(np.min([n, 6])),
    "maximum": lambda x, n: x * int(np.maximum(n, 6)),
    "minimum": lambda x, n: x * int(np.minimum(n, 6)),
    "abs": lambda x, n: x * int(np.abs(3 - n)),
    "view": lambda x, n: x.view(np.prod(x.shape)),
    "reshape": lambda x, n: x.reshape(4, np.prod(x.shape[:1])),
}
BATCH = Dim("batch", min=2, max=1000)


def tensor(batch: int) -> Tensor:
    return torch.randn(batch, 4, generator=torch.Generator().manual_seed(batch))


@pytest.mark.parametrize("name", SYMBOLIC)
def test_the_size_stays_symbolic(name: str) -> None:
    def forward(x: Tensor) -> Tensor:
        return SYMBOLIC[name](x, x.shape[0])

    run = dynamo_lite.export(forward, (tensor(9),), dynamic_shapes=({0: BATCH},)).module()
    for batch in (9, 2, 3, 5, 6, 7, 127, 128, 129, 257):
        assert torch.equal(run(tensor(batch)), forward(tensor(batch)))


def _kept(x: Tensor, n: int) -> Tensor:
    count = np.ceil(n / 2)
    return x * int(count) * (type(count) is np.float64)


FIXED: dict[str, Callable[[Tensor, Any], Tensor]] = {
    "kept": _kept,
    "a method of numpy's scalars": lambda x, n: x * np.ceil(n / 2).astype(int),
    "its type": lambda x, n: x * (type(np.prod([n, 2])) is np.int64),
    "a dtype made of it": lambda x, n: x * torch.tensor(np.sqrt(n)),
    "floats, whose order of multiplication is numpy's": lambda x, n: x * float(np.prod([n / 3, 0.1, 0.7])),
    "root of a negative number": lambda x, n: x * float(np.nan_to_num(np.sqrt(5 - n))),
    "called by C": lambda x, n: x * int(sum(map(np.sqrt, [n, n]))),
}


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_where_numpy_s_scalar_may_be_seen_it_gets_the_number(name: str) -> None:
    def forward(x: Tensor) -> Tensor:
        return FIXED[name](x, x.shape[0])

    program = dynamo_lite.export(forward, (tensor(9),), dynamic_shapes=({0: Dim.AUTO},))
    got, wanted = program.module()(tensor(9)), forward(tensor(9))
    assert got.dtype is wanted.dtype and torch.equal(got, wanted)
    for batch in (8, 20):
        with pytest.raises(RuntimeError):
            program.module()(tensor(batch))


def test_chunks() -> None:
    """As a virtual batch: the number of chunks is fixed, which bounds the size."""

    def forward(x: Tensor) -> Tensor:
        return torch.cat([part - part.mean() for part in x.chunk(int(np.ceil(x.shape[0] / 128)), 0)])

    run = dynamo_lite.export(forward, (tensor(9),), dynamic_shapes=({0: Dim("batch", min=2, max=128)},)).module()
    for batch in (9, 2, 128):
        torch.testing.assert_close(run(tensor(batch)), forward(tensor(batch)))


SIGNS: dict[str, Callable[[Any], object]] = {
    "copysign of a number": lambda n: math.copysign(2, n),
    "by a negative size": lambda n: math.copysign(2.0, -n),
    "of a size": lambda n: math.copysign(n, -0.0),
    "of two": lambda n: math.copysign(n + 5, n / 3),
    "fabs": lambda n: math.fabs(5 - n),
    "fabs of a quotient": lambda n: math.fabs(-n / 3),
    "a key": lambda n: {(int, 1.0): 3}[int, math.copysign(1.0, n)],
}


@pytest.mark.parametrize("name", SIGNS)
def test_only_the_sign_is_asked(name: str) -> None:
    def forward(x: Tensor) -> Any:
        return SIGNS[name](x.shape[0])

    run = dynamo_lite.export(forward, (tensor(9),), dynamic_shapes=({0: BATCH},)).module()
    for batch in (9, 2, 5, 7, 50):
        got, wanted = run(tensor(batch)), forward(tensor(batch))
        assert type(got) is type(wanted) and got == wanted


def test_a_sign_that_varies_bounds_the_size() -> None:
    def forward(x: Tensor) -> Tensor:
        return x * math.copysign(3.0, x.shape[0] - 5)

    run = dynamo_lite.export(forward, (tensor(9),), dynamic_shapes=({0: Dim.AUTO},)).module()
    for batch in (5, 6, 20):
        assert torch.equal(run(tensor(batch)), forward(tensor(batch)))
    with pytest.raises(RuntimeError):
        run(tensor(4))
