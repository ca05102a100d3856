"""Tables that a module makes on its first call, or for its longest input so far, with lengths that vary.

Each program is exported before its first call. Then the program and the module, in eager, are called with the same
inputs of other lengths, in several orders: the state that an earlier call left must make no difference that the program
has not.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError

LENGTHS = [5, 3, 9, 9, 2, 17, 1, 4]
ORDERS = [LENGTHS, LENGTHS[::-1], sorted(LENGTHS), [1, 30, 2, 6]]


class Table(nn.Module):
    """The state that most of the programs below have; `make` is theirs."""

    make: Callable[[Any, int], Tensor]
    step: Callable[[Any, Tensor], Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("inv", 1 / 100 ** (torch.arange(0, 8, 2) / 8), persistent=False)
        self.register_buffer("pe", None, persistent=False)
        self.table: Any = None
        self.other: Any = None
        self.length = 0

    def forward(self, x: Tensor) -> Tensor:
        return type(self).step(self, x)


def module_of(step: Callable[..., Tensor], make: Callable[..., Tensor]) -> nn.Module:
    return type(step.__name__, (Table,), {"step": step, "make": make})()


# -- how a table is made: each row by itself, or not ---------------------------------------------------------------


def angles(self: Any, n: int) -> Tensor:
    freqs = torch.outer(torch.arange(n).float(), self.inv)
    return torch.cat((freqs, freqs), dim=-1).cos()


def by_einsum(self: Any, n: int) -> Tensor:
    freqs = torch.einsum("i,j->ij", torch.arange(n).type_as(self.inv), self.inv)
    return torch.stack((freqs, freqs), dim=-1).flatten(-2).sin()


def by_product(self: Any, n: int) -> Tensor:
    return (torch.arange(n)[:, None].float() @ torch.cat((self.inv, self.inv))[None]).cos()


def written(self: Any, n: int) -> Tensor:
    pe = torch.zeros(n, 8)
    position = torch.arange(0, n, dtype=torch.float32).unsqueeze(1)
    pe[:, 0::2] = torch.sin(position * self.inv)
    pe[:, 1::2] = torch.cos(position * self.inv)
    return pe


def filled(self: Any, n: int) -> Tensor:
    return torch.full((n, 8), 0.5) * torch.ones(n, 1)


def relative(self: Any, n: int) -> Tensor:
    return torch.arange(n)[:, None] / n * torch.ones(8)


def reversed_rows(self: Any, n: int) -> Tensor:
    return torch.arange(n - 1, -1, -1)[:, None] * torch.ones(8)


def flipped(self: Any, n: int) -> Tensor:
    return torch.arange(n).flip(0)[:, None] * torch.ones(8)


def normalised(self: Any, n: int) -> Tensor:
    return torch.softmax(torch.arange(n).float(), 0)[:, None] * torch.ones(8)


def with_a_last_row(self: Any, n: int) -> Tensor:
    table = torch.zeros(n, 8)
    table[-1] = 1
    return table


def of_its_length(self: Any, n: int) -> Tensor:
    return torch.zeros(n, 8) + n


def less_the_mean(self: Any, n: int) -> Tensor:
    rows = torch.arange(n).float()
    return (rows - rows.mean())[:, None] * torch.ones(8)


def rolled(self: Any, n: int) -> Tensor:
    return torch.arange(n).roll(1)[:, None] * torch.ones(8)


ROW_BY_ROW = [angles, by_einsum, by_product, written, filled]
NOT_ROW_BY_ROW = [relative, reversed_rows, flipped, normalised, with_a_last_row, of_its_length, less_the_mean,
                  rolled]  # fmt: skip


# -- when it is made, and how it is read ---------------------------------------------------------------------------


def for_another_length(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n != self.length or self.table is None or self.table.device != x.device:
        self.length, self.table = n, self.make(n)
    return x * self.table


def for_a_longer_one(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, self.make(n)
    return x * self.table[:n]


def if_the_table_is_short(self: Any, x: Tensor) -> Tensor:
    n = x.size(1)
    if self.pe is None or self.pe.size(1) < n:
        self.pe = self.make(n).unsqueeze(0)
    return x + self.pe[:, :n].to(x.dtype)


def in_a_method(self: Any, x: Tensor) -> Tensor:
    def extend() -> None:
        if self.table is not None and self.table[0].size(0) >= x.size(1):
            return
        made = self.make(x.size(1))
        self.table = (made, made * 2)

    extend()
    one, other = self.table
    return x * one[: x.size(1)] + other[: x.size(1), :]


def by_positions(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.table is None or n > self.length:
        self.table, self.length = self.make(n), n
    positions = torch.arange(n).flip(0)
    return x * self.table.index_select(0, positions) + nn.functional.embedding(positions, self.table)


def two_tables(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, self.make(n)
        self.other = self.table.sin()[None]
    return x * self.table[:n] + self.other[:, :n]


WAYS = [for_another_length, for_a_longer_one, if_the_table_is_short, in_a_method, by_positions, two_tables]


# -- ways that leave what later calls see --------------------------------------------------------------------------


def length_and_table_apart(self: Any, x: Tensor) -> Tensor:
    """The length of the last call, and the table of the first."""
    n = x.shape[1]
    if self.table is None:
        self.table = self.make(n)
    self.length = n
    return x * self.table[:n].sum()


def the_whole_table(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, self.make(n)
    return x * self.table.sum()


def the_last_rows(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, self.make(n)
    return x * self.table[-n:]


def its_length_counts(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, self.make(n)
    return x * self.table[:n] + self.table.shape[0]


def written_later(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, self.make(n)
    self.table[0] += 1
    return x * self.table[:n]


def of_the_input(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, x[0] * 1
    return x * self.table[:n]


def one_table_of_two(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.table is None or n > self.table.shape[0]:
        self.table = self.make(n)
    if self.other is None or n != self.other.shape[0]:
        self.other = self.make(n) * self.table.shape[0]
    return x * self.table[:n] + self.other


def drawn(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, self.make(n) + torch.rand(n, 1)
    return x * self.table[:n]


def rows_of_a_mask(self: Any, x: Tensor) -> Tensor:
    """What is returned has the strides of a longer table."""
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, torch.ones(n, n).tril()
    return self.table[:n, :n]


def laid_out_as_a_mask(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, torch.ones(n, n).tril()
    part = self.table[:n, :n]
    return part.sum(0) if part.is_contiguous() else part.sum(1)


def a_view_of_a_mask(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, torch.ones(n, n).tril()
    return self.table[:n, :n].view(-1)


def indexed_from_the_end(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, self.make(n)
    return x * self.table[torch.arange(n) - 1]


def of_a_buffer_that_is_assigned(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, self.make(n) * self.inv.sum()
    self.inv = self.inv + 1
    return x * self.table[:n]


def kept_views(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, self.make(n)
        self.other = self.table[:, :4]
    self.other[0] = 5.0
    return x * self.table[:n]


HOSTILE = [indexed_from_the_end, of_a_buffer_that_is_assigned, rows_of_a_mask, laid_out_as_a_mask, a_view_of_a_mask,
           kept_views, length_and_table_apart, the_whole_table, the_last_rows, its_length_counts, written_later,
           of_the_input, one_table_of_two, drawn]  # fmt: skip


def exported(step: Callable[..., Tensor], make: Callable[..., Tensor], spec: Any) -> Any:
    return dynamo_lite.export(module_of(step, make), (torch.randn(2, 5, 8),), dynamic_shapes=(spec,))


def taken(step: Callable[..., Tensor], make: Callable[..., Tensor], program: Any) -> int:
    """How many calls the program takes; each must equal eager. What it rejects no eager call has seen either."""
    count = 0
    for number, lengths in enumerate(ORDERS):
        module, run = module_of(step, make), program.module()
        for length in lengths:
            x = torch.randn(2, length, 8, generator=torch.Generator().manual_seed(number))
            torch.manual_seed(number)
            try:
                result = run(x)
            except (DynamoLiteError, RuntimeError, AssertionError):
                continue
            torch.manual_seed(number)
            torch.testing.assert_close(result, module(x), check_stride=True)
            count += 1
    return count


@pytest.mark.parametrize("make", ROW_BY_ROW, ids=lambda f: f.__name__)
@pytest.mark.parametrize("step", WAYS, ids=lambda f: f.__name__)
def test_tables_whose_rows_do_not_depend_on_the_length(step: Any, make: Any) -> None:
    program = exported(step, make, {1: Dim("n", min=1)})
    assert taken(step, make, program) == sum(map(len, ORDERS))


@pytest.mark.parametrize("make", NOT_ROW_BY_ROW, ids=lambda f: f.__name__)
@pytest.mark.parametrize("step", WAYS, ids=lambda f: f.__name__)
def test_tables_whose_rows_depend_on_the_length(step: Any, make: Any) -> None:
    if step is for_another_length:
        assert taken(step, make, exported(step, make, {1: Dim("n", min=1)})) == sum(map(len, ORDERS))
        return
    with pytest.raises(DynamoLiteError):
        exported(step, make, {1: Dim("n", min=1)})


@pytest.mark.parametrize("make", [angles, filled, relative], ids=lambda f: f.__name__)
@pytest.mark.parametrize("step", HOSTILE, ids=lambda f: f.__name__)
def test_what_a_later_call_would_see_is_refused_or_right(step: Any, make: Any) -> None:
    for spec in (None, {1: Dim.AUTO}, {1: Dim("n", min=1)}):
        try:
            program = exported(step, make, spec)
        except DynamoLiteError:
            continue
        taken(step, make, program)


def masked(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if self.table is None or self.table.size(-1) < n:
        self.table = torch.tril(torch.ones(n, n, dtype=torch.bool))[None]
    scores = (x @ x.transpose(1, 2)).masked_fill(~self.table[:, :n, :n], float("-inf"))
    return scores.softmax(-1) @ x


def test_a_causal_mask_of_two_dimensions() -> None:
    program = exported(masked, angles, {1: Dim("n", min=1)})
    assert taken(masked, angles, program) == sum(map(len, ORDERS))
    assert "self.table" in program.trace.explain()


def test_two_lengths() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows: Any = None
            self.columns: Any = None

        def forward(self, x: Tensor) -> Tensor:
            n, m = x.shape
            if self.rows is None or self.rows.size(0) < n or self.columns.size(0) < m:
                self.rows, self.columns = torch.arange(n) * 2.0, torch.arange(m) * 3.0
            return x + self.rows[:n, None] * self.columns[:m]

    program = dynamo_lite.export(Both(), (torch.randn(3, 4),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},)).module()
    order = random.Random(3)
    module = Both()
    for _ in range(12):
        x = torch.randn(order.randint(2, 9), order.randint(2, 9))
        torch.testing.assert_close(program(x), module(x))


def test_the_length_of_a_table_may_be_computed() -> None:
    class Halved(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.length = 0
            self.table: Any = None

        def forward(self, x: Tensor) -> Tensor:
            x = x[::2]
            if x.shape[0] != self.length:
                self.length, self.table = x.shape[0], torch.arange(x.shape[0]).type_as(x)
            return x * self.table

    program = dynamo_lite.export(Halved(), (torch.randn(7),), dynamic_shapes=({0: Dim("n", min=1)},)).module()
    module = Halved()
    for length in (7, 8, 3, 4, 1, 20, 19):
        x = torch.randn(length)
        torch.testing.assert_close(program(x), module(x))
