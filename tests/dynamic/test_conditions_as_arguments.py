"""A condition on sizes as an argument of torch's C code: symbolic where that takes a number, else decided."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import InputMismatch

DECIDED: dict[str, Callable[[Tensor], Any]] = {
    "a method": lambda x: x.sum(0, keepdim=x.shape[0] > 2),
    "a function": lambda x: torch.sum(x, 0, x.shape[0] > 2),
    "of torch.nn": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=x.shape[0] > 2),
    "with a result of two": lambda x: torch.sort(x, 0, descending=x.shape[0] > 2).values,
    "with keywords": lambda x: torch.topk(x, 1, dim=0, largest=x.shape[0] > 2)[0],
    "a copy": lambda x: x.to(torch.float32, copy=x.shape[0] > 2).add_(1),
}
SYMBOLIC: dict[str, Callable[[Tensor], Any]] = {
    "torch.full": lambda x: x + torch.full((3,), x.shape[0] > 2),
    "torch.tensor": lambda x: x * torch.tensor(x.shape[0] > 2),
}
SIZES = (1, 2, 3, 7)


def _exported(program: Callable[..., Any]) -> Callable[..., Any]:
    module: Callable[..., Any] = dynamo_lite.export(
        program, (torch.randn(4, 3),), dynamic_shapes=({0: Dim.AUTO},)
    ).module()
    return module


@pytest.mark.parametrize("name", DECIDED)
def test_decided(name: str) -> None:
    run = _exported(DECIDED[name])
    for n in SIZES:
        x = torch.randn(n, 3)
        if n > 2:
            torch.testing.assert_close(run(x.clone()), DECIDED[name](x))
        else:
            with pytest.raises(InputMismatch, match="at least 3"):
                run(x)


@pytest.mark.parametrize("name", SYMBOLIC)
def test_symbolic(name: str) -> None:
    run = _exported(SYMBOLIC[name])
    for n in SIZES:
        x = torch.randn(n, 3)
        torch.testing.assert_close(run(x), SYMBOLIC[name](x))


def test_the_program_sees_no_error() -> None:
    def program(x: Tensor) -> Tensor:
        try:
            return x.sum(0, keepdim=x.shape[0] > 2)
        except TypeError:
            return x * 0

    x = torch.randn(5, 3)
    torch.testing.assert_close(_exported(program)(x), program(x))


def test_a_deque_of_so_many_items() -> None:
    run = _exported(lambda x: x * sum(collections.deque(range(20), maxlen=x.shape[0])))
    x = torch.randn(4, 3)
    torch.testing.assert_close(run(x), x * (19 + 18 + 17 + 16))
    with pytest.raises(InputMismatch):
        run(torch.randn(5, 3))
