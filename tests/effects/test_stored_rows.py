"""Buffers that a module fills on its first call, or for its longest input so far: what later calls read there.

As in test_kept_tables.py, each program is exported before its first call, and called in several orders of lengths.
The buffers of the program must hold what those of the module hold in eager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError

ORDERS = [[5, 3, 9, 9, 2, 12, 1, 4], [12, 5, 1, 9], [1, 2, 5, 5, 12], [5, 5, 5]]


class Filled(nn.Module):
    step: Callable[[Any, Tensor], Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.freqs = nn.Parameter(1 / 100 ** (torch.arange(0, 8, 2) / 8), requires_grad=False)
        self.register_buffer("cached", torch.zeros(12, 8), persistent=False)
        self.register_buffer("scale", torch.ones(8))
        self.register_buffer("other", torch.zeros(12, 8))
        self.filled = 0
        self.done = False

    def make(self, n: int) -> Tensor:
        freqs = torch.arange(n).float()[:, None] * self.freqs
        return torch.cat((freqs, freqs), dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        return type(self).step(self, x)


def for_a_longer_one(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.filled < n:
        self.cached[:n] = self.make(n).detach()
        self.filled = n
    return x * self.cached[:n].cos()


def returned_as_made(self: Any, x: Tensor) -> Tensor:
    """As in the rotary embeddings of lucidrains: the first call does not read what it has written."""
    n = x.shape[1]
    if n <= self.filled:
        return x * self.cached[0:n].detach()
    made = self.make(n)
    self.cached[:n] = made.detach()
    self.filled = n
    return x * made


def always_filled(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    self.cached[:n] = self.make(n)
    if not self.done:
        self.done = True
    return x + self.cached[:n]


WHOLE = [for_a_longer_one, returned_as_made, always_filled]


def once(self: Any, x: Tensor) -> Tensor:
    if not self.done:
        self.cached[: x.shape[1]] = self.make(x.shape[1])
        self.done = True
    return x * self.cached[: x.shape[1]]


def read_before(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    y = x + self.cached[:n]
    if self.filled < n:
        self.cached[:n] = self.make(n) + 1
        self.filled = n
    return y


def of_the_input(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.filled < n:
        self.cached[:n] = x[0]
        self.filled = n
    return x * self.cached[:n]


def all_rows_are_read(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.filled < n:
        self.cached[:n] = self.make(n) + 1
        self.filled = n
    return x * self.cached.sum()


def added(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.filled < n:
        self.cached[:n] += self.make(n) + 1
        self.filled = n
    return x * self.cached[:n]


def of_its_length(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.filled < n:
        self.cached[:n] = self.make(n) / n
        self.filled = n
    return x * self.cached[:n]


def five_rows_of_its_length(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.filled < n:
        self.cached[:5] = self.make(5) + n
        self.filled = n
    return x * self.cached[:5].sum()


def written_twice(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.filled < n:
        self.cached[:n] = self.make(n)
        self.cached[0] = 7
        self.filled = n
    return x * self.cached[:n]


def counted(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.filled < n:
        self.cached[:n] = self.make(n)
        self.filled = n
    self.cached[-1] += 1
    return x * self.cached[:n]


def assigned_later(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if not self.done:
        self.cached[:n] = self.make(n)
        self.done = True
    y = x * self.cached[:n]
    self.cached = self.cached * 0 + 7
    return y


def of_a_buffer_that_is_assigned(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.filled < n:
        self.cached[:n] = self.make(n) * self.scale
        self.filled = n
    self.scale = self.scale + 1
    return x * self.cached[:n]


def written_beside_another(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if not self.done:
        self.cached[:n] = self.make(n)
        self.done = True
    y = x * self.cached[:n]
    torch._foreach_add_([self.cached, self.other], 1.0)
    return y


HOSTILE = [assigned_later, of_a_buffer_that_is_assigned, written_beside_another, once, read_before, of_the_input,
           all_rows_are_read, added, of_its_length, five_rows_of_its_length, written_twice, counted]  # fmt: skip


def module_of(step: Callable[..., Tensor]) -> nn.Module:
    return type(step.__name__, (Filled,), {"step": step})()


def taken(step: Callable[..., Tensor], spec: Any) -> int:
    """How many calls programs take; each must equal eager, and leave the buffer as eager does."""
    count = 0
    for lengths in ORDERS:
        module = module_of(step)
        run: Any = dynamo_lite.export(module_of(step), (torch.randn(2, 5, 8),), dynamic_shapes=(spec,)).module()
        for length in lengths:
            x = torch.randn(2, length, 8)
            try:
                result = run(x)
            except (DynamoLiteError, RuntimeError, AssertionError):
                continue
            torch.testing.assert_close(result, module(x))
            torch.testing.assert_close(run.cached, module.cached)
            count += 1
    return count


@pytest.mark.parametrize("spec", [None, {1: Dim.AUTO}, {1: Dim("n", min=1, max=12)}], ids=["static", "auto", "named"])
@pytest.mark.parametrize("step", WHOLE, ids=lambda f: f.__name__)
def test_rows_that_are_filled_when_they_are_needed(step: Any, spec: Any) -> None:
    lengths = [length for lengths in ORDERS for length in lengths]
    assert taken(step, spec) == (lengths.count(5) if spec is None else len(lengths))


@pytest.mark.parametrize("spec", [None, {1: Dim.AUTO}, {1: Dim("n", min=1, max=12)}], ids=["static", "auto", "named"])
@pytest.mark.parametrize("step", HOSTILE, ids=lambda f: f.__name__)
def test_what_a_later_call_would_see_is_refused_or_right(step: Any, spec: Any) -> None:
    try:
        dynamo_lite.export(module_of(step), (torch.randn(2, 5, 8),), dynamic_shapes=(spec,))
    except DynamoLiteError:
        return
    taken(step, spec)
