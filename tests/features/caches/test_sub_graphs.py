"""Results of cached functions that a sub-graph or a side of a branch has made mean nothing outside of it."""

from __future__ import annotations

import contextvars
import functools

import pytest
import torch

import dynamo_lite
from dynamo_lite.errors import GraphBreak


@functools.lru_cache
def _ones(length: int) -> torch.Tensor:
    return torch.ones(length)


def _operator(x: torch.Tensor) -> torch.Tensor:
    y = torch.cond(x.sum() > 0, lambda x: x * _ones(x.shape[0]), lambda x: x + _ones(x.shape[0]), (x,))
    return y + _ones(x.shape[0])


def _branch(x: torch.Tensor) -> torch.Tensor:
    y = x * _ones(x.shape[0]) if x.sum() > 0 else x + _ones(x.shape[0])
    return y + _ones(x.shape[0])


@pytest.mark.parametrize("program", [_operator, _branch])
@pytest.mark.parametrize("size", [None, dynamo_lite.Dim.AUTO], ids=["constant", "varying"])
def test_a_result_of_one_side_is_not_found_by_the_other(program, size) -> None:
    lengths = (4,) if size is None else (1, 2, 4, 7)
    exported = dynamo_lite.export(program, (torch.randn(4),), dynamic_shapes=None if size is None else ({0: size},))
    for x in (sign * torch.rand(length) for length in lengths for sign in (1, -1)):
        assert torch.equal(exported.module()(x), program(x))


_SCALE = contextvars.ContextVar("scale", default=1.0)


def _set_on_one_side(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        _SCALE.set(2.0)
    return x * _SCALE.get()


def _set_and_put_back(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        token = _SCALE.set(2.0)
        x = x * _SCALE.get()
        _SCALE.reset(token)
    return x * _SCALE.get()


def test_a_variable_that_one_side_sets_is_refused() -> None:
    with pytest.raises(GraphBreak, match="the context variable 'scale'"):
        dynamo_lite.export(_set_on_one_side, (torch.ones(2),))
    assert _SCALE.get() == 1.0


def test_a_variable_that_a_side_puts_back_is_taken() -> None:
    exported = dynamo_lite.export(_set_and_put_back, (torch.ones(2),))
    for x in (torch.ones(2), -torch.ones(2)):
        assert torch.equal(exported.module()(x), _set_and_put_back(x))
    assert _SCALE.get() == 1.0
