"""Tables that a module holds before the export, and replaces by longer ones for longer inputs.

Each program is exported before the module's first call. Then the program and the module, in eager, are called with the
same inputs of other lengths, in several orders: the lengths that the table has, longer ones, and short ones again.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError

HELD = 12
ORDERS = [[5, 3, 9, 12], [5, 30, 5, 12, 13], [40, 1, 20, 41, 7], [13, 12, 11], [1, 2, 50, 49, 3]]
CALLS = sum(map(len, ORDERS))
NAMED = {1: Dim("n", min=1)}


class Held(nn.Module):
    """A table of 12 rows from `make`, in the places that the programs below read."""

    make: Callable[[Any, int], Tensor]
    step: Callable[[Any, Tensor], Tensor]

    def __init__(self, persistent: bool = False) -> None:
        super().__init__()
        self.register_buffer("inv", 1 / 100 ** (torch.arange(0, 8, 2) / 8), persistent=False)
        self.table: Any = self.make(HELD)
        self.length = HELD
        self.pair: Any = (self.table, self.table * 2)
        self.scale = 1.0
        self.flag = False
        self.seen = 0
        self.register_buffer("pe", self.make(HELD)[None], persistent=persistent)
        self.register_buffer("cos", self.table.cos(), persistent=persistent)
        self.register_buffer("sin", self.table.sin(), persistent=persistent)

    def forward(self, x: Tensor) -> Tensor:
        return type(self).step(self, x)


def module_of(step: Callable[..., Tensor], make: Callable[..., Tensor], **options: Any) -> Any:
    return type(step.__name__, (Held,), {"step": step, "make": make})(**options)


# -- how a table is made ---------------------------------------------------------------------------------------------


def angles(self: Any, n: int) -> Tensor:
    freqs = torch.outer(torch.arange(n).float(), self.inv)
    return torch.cat((freqs, freqs), dim=-1).cos()


def written(self: Any, n: int) -> Tensor:
    pe = torch.zeros(n, 8)
    position = torch.arange(0, n, dtype=torch.float32).unsqueeze(1)
    pe[:, 0::2] = torch.sin(position * self.inv)
    pe[:, 1::2] = torch.cos(position * self.inv)
    return pe


def with_a_padding_row(self: Any, n: int) -> Tensor:
    """As in fairseq: a row is overwritten, and the result converted."""
    rows = torch.arange(n, dtype=torch.int64).float()[:, None] * self.inv[None]
    table = torch.cat([rows.sin(), rows.cos()], dim=1).view(n, -1)
    table[0, :] = 0
    return table.to(torch.get_default_dtype())


def of_doubles(self: Any, n: int) -> Tensor:
    rows = torch.arange(n, dtype=torch.float64)[:, None] * torch.ones(8, dtype=torch.float64)
    rows[0] = 7
    return rows.sqrt().to(torch.float32)


def relative(self: Any, n: int) -> Tensor:
    return torch.arange(n)[:, None] / n * torch.ones(8)


def reversed_rows(self: Any, n: int) -> Tensor:
    return torch.arange(n - 1, -1, -1)[:, None] * torch.ones(8)


def with_a_last_row(self: Any, n: int) -> Tensor:
    table = torch.zeros(n, 8)
    table[-1] = 1
    return table


ROW_BY_ROW = [angles, written, with_a_padding_row, of_doubles]
NOT_ROW_BY_ROW = [relative, reversed_rows, with_a_last_row]


# -- when it is replaced ---------------------------------------------------------------------------------------------


def attribute(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.table.shape[0]:
        self.table = self.make(n)
    return x + self.table[:n]


def buffer(self: Any, x: Tensor) -> Tensor:
    n = x.size(1)
    if self.pe is None or self.pe.size(1) < n:
        self.pe = self.make(n).unsqueeze(0)
    return x + self.pe[:, :n].to(x.dtype)


def rotary(self: Any, x: Tensor) -> Tensor:
    n = x.shape[-2]
    if n > self.length:
        self.length = n
        table = self.make(n)
        self.register_buffer("cos", table.cos(), persistent=False)
        self.register_buffer("sin", table.sin(), persistent=False)
    return x * self.cos[:n] + x.flip(-1) * self.sin[:n]


def with_spare_rows(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n + 1 > self.table.shape[0]:
        self.table = self.make(n + 5)
    return x * self.table.index_select(0, torch.arange(n))


def new_buffer(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.pe.size(1):
        self.pe = nn.Buffer(self.make(n)[None].to(self.pe.dtype), persistent=False)
    return nn.functional.embedding(torch.arange(n).flip(0), self.pe[0]) * x


def tuple_of_two(self: Any, x: Tensor) -> Tensor:
    if self.pair[0].size(0) < x.size(1):
        made = self.make(x.size(1))
        self.pair = (made, made * 2)
    one, other = self.pair
    return x * one[: x.size(1)] + other[: x.size(1), :]


@torch.no_grad()
def without_gradients(self: Any, x: Tensor) -> Tensor:
    if x.shape[1] > self.table.shape[0]:
        self.table = self.make(x.shape[1]).detach()
    return (x + self.table[: x.shape[1]]).detach()


def another_branch_as_well(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.table.shape[0]:
        self.table = self.make(n)
    x = x + self.table[:n]
    return x.relu() if n % 2 == 0 else x.tanh()


WAYS = [attribute, buffer, rotary, with_spare_rows, new_buffer, tuple_of_two, without_gradients]


# -- what a later call would see -------------------------------------------------------------------------------------


def a_number_set_with_it(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.table.shape[0]:
        self.table, self.scale = self.make(n), 2.0
    return x * self.table[:n] * self.scale


def a_flag_once(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.table.shape[0]:
        self.table = self.make(n)
    if not self.flag:
        self.flag = True
    return x * self.table[:n]


def its_length_counts(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.table.shape[0]:
        self.table = self.make(n)
    return x * self.table[:n] + self.table.shape[0]


def the_whole_table(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.table.shape[0]:
        self.table = self.make(n)
    return x * self.table.sum()


def the_last_rows(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.length:
        self.length, self.table = n, self.make(n)
    return x * self.table[-n:]


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


def doubled(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    while n > self.table.shape[0]:
        self.table = self.make(2 * self.table.shape[0])
    return x * self.table[:n]


def the_length_of_the_last_call(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.table.shape[0]:
        self.table = self.make(n)
    shift, self.seen = self.seen, n
    return x * self.table[:n] + shift


def shorter_again(self: Any, x: Tensor) -> Tensor:
    """A short input makes the table short, which the next one finds."""
    n = x.shape[1]
    if n != self.table.shape[0]:
        self.table = self.make(n)
    return x * self.table


def used_where_it_is_replaced(self: Any, x: Tensor) -> Tensor:
    n = x.shape[1]
    if n > self.table.shape[0]:
        self.table = self.make(n) + self.table.sum()
    return x * self.table[:n]


def rows_returned(self: Any, x: Tensor) -> Any:
    n = x.shape[1]
    if n > self.table.shape[0]:
        self.table = self.make(n)
    return self.table[:n]


HOSTILE = [a_number_set_with_it, a_flag_once, its_length_counts, the_whole_table, the_last_rows, written_later,
           of_the_input, doubled, the_length_of_the_last_call, shorter_again, used_where_it_is_replaced,
           rows_returned]  # fmt: skip


def exported(module: nn.Module, spec: Any, length: int = 5) -> Any:
    return dynamo_lite.export(module, (torch.randn(2, length, 8),), dynamic_shapes=(spec,))


def taken(program: Any, make: Callable[[], nn.Module]) -> int:
    """How many calls the program takes; each must equal eager. What it rejects no eager call has seen either."""
    count = 0
    for number, lengths in enumerate(ORDERS):
        module, run = make(), copy.deepcopy(program.module())  # a table that the program changes is state
        for length in lengths:
            x = torch.randn(2, length, 8, generator=torch.Generator().manual_seed(number))
            try:
                result = run(x)
            except (DynamoLiteError, RuntimeError, AssertionError):
                continue
            torch.testing.assert_close(result, module(x), check_stride=True)
            count += 1
    return count


@pytest.mark.parametrize("length", [1, 5, 20])
@pytest.mark.parametrize("make", ROW_BY_ROW, ids=lambda f: f.__name__)
@pytest.mark.parametrize("step", WAYS, ids=lambda f: f.__name__)
def test_every_length_is_taken(step: Any, make: Any, length: int) -> None:
    module = module_of(step, make)
    before = {name: value.clone() for name, value in module.named_buffers()}, module.length, module.table
    program = exported(module, NAMED, length)
    assert {name: value.shape for name, value in module.named_buffers()} == {n: v.shape for n, v in before[0].items()}
    assert (module.length, module.table) == before[1:]
    assert taken(program, lambda: module_of(step, make)) == CALLS


@pytest.mark.parametrize("length", [5, 20])
def test_another_branch_on_the_length_is_captured(length: int) -> None:
    program = exported(module_of(another_branch_as_well, angles), NAMED, length)
    assert taken(program, lambda: module_of(another_branch_as_well, angles)) == CALLS


@pytest.mark.parametrize("make", NOT_ROW_BY_ROW, ids=lambda f: f.__name__)
@pytest.mark.parametrize("step", WAYS, ids=lambda f: f.__name__)
def test_rows_that_depend_on_the_length_are_refused(step: Any, make: Any) -> None:
    with pytest.raises(DynamoLiteError):
        exported(module_of(step, make), NAMED)
    program = exported(module_of(step, make), {1: Dim("n", min=1, max=HELD - 1)})
    taken(program, lambda: module_of(step, make))


@pytest.mark.parametrize("length", [5, 20])
@pytest.mark.parametrize("make", [angles, with_a_padding_row, relative], ids=lambda f: f.__name__)
@pytest.mark.parametrize("step", HOSTILE, ids=lambda f: f.__name__)
def test_what_a_later_call_would_see_is_refused_or_right(step: Any, make: Any, length: int) -> None:
    for spec in (None, {1: Dim.AUTO}, NAMED):
        try:
            program = exported(module_of(step, make), spec, length)
        except DynamoLiteError:
            continue
        taken(program, lambda: module_of(step, make))


def _scaled(module: Any) -> None:
    module.table = module.table * 1.5
    module.pe, module.cos, module.pair = module.pe * 1.5, module.cos * 1.5, (module.pair[0], module.pair[1] * 3)


def _one_bit(module: Any) -> None:
    for table in (module.table, module.pe[0], module.cos, module.pair[1]):
        table[-1, -1] += 1e-6


def _other_rows(module: Any) -> None:
    module.table, module.pe, module.cos = module.table[:7] + 1, module.pe[:, :7] + 1, module.cos[:7] + 1
    module.length, module.pair = 7, (module.pair[0][:7] + 1, module.pair[1])


def _half(module: Any) -> None:
    module.table, module.pe, module.cos = module.table.half(), module.pe.half(), module.cos.half()
    module.pair = (module.pair[0].half(), module.pair[1])


def _trained(module: Any) -> None:
    module.table = nn.Parameter(module.table * 1.0)
    module.pair = (nn.Parameter(module.pair[0] * 2), module.pair[1])


@pytest.mark.parametrize("change", [_scaled, _one_bit, _other_rows, _half, _trained], ids=lambda f: f.__name__)
@pytest.mark.parametrize("step", WAYS, ids=lambda f: f.__name__)
def test_a_table_of_other_values_is_refused_or_right(step: Any, change: Any) -> None:
    def changed() -> Any:
        module = module_of(step, angles)
        change(module)
        return module

    for spec in ({1: Dim.AUTO}, NAMED):
        for length in (5, 20):
            try:
                program = exported(changed(), spec, length)
            except (DynamoLiteError, TypeError):  # the module's own: a parameter cannot be replaced by a tensor
                continue
            taken(program, changed)


def test_one_bit_more_is_refused() -> None:
    module = module_of(attribute, angles)
    module.table[3, 3] += 1e-6
    with pytest.raises(DynamoLiteError, match="12"):
        exported(module, NAMED)


def test_a_length_and_a_table_that_no_call_leaves_together() -> None:
    module = module_of(rotary, angles)
    module.length = 6
    with pytest.raises(DynamoLiteError):
        exported(module, NAMED)


def test_after_eager_calls() -> None:
    """The table that a call has left is one, too."""
    def called() -> Any:
        module = module_of(rotary, written)
        module(torch.randn(2, 17, 8))
        return module

    assert taken(exported(called(), NAMED), called) == CALLS


def test_persistent_buffers() -> None:
    module = module_of(buffer, angles, persistent=True)
    program = exported(module, NAMED)
    assert set(program.state_dict) == set(module.state_dict())
    assert all(program.state_dict[name].shape == value.shape for name, value in module.state_dict().items())
    assert any("loaded later" in note for note in program.notes)
    assert taken(program, lambda: module_of(buffer, angles, persistent=True)) == CALLS


def test_auto_with_a_long_example_takes_short_inputs() -> None:
    program = exported(module_of(attribute, angles), {1: Dim.AUTO}, length=20)
    assert taken(program, lambda: module_of(attribute, angles)) == CALLS


def test_auto_with_a_short_example_reads_what_is_held() -> None:
    program = exported(module_of(attribute, angles), {1: Dim.AUTO})
    assert "arange" not in program.graph_module.code
    taken(program, lambda: module_of(attribute, angles))


class Two(nn.Module):
    """An encoder's and a decoder's table, of different lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = torch.arange(6) * 2.0, torch.arange(9) * 3.0

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        if x.shape[0] > self.one.shape[0]:
            self.one = torch.arange(x.shape[0]) * 2.0
        if y.shape[0] > self.other.shape[0]:
            self.other = torch.arange(y.shape[0]) * 3.0
        return (x * self.one[: x.shape[0]]).sum() + y * self.other[: y.shape[0]]


def test_tables_of_two_lengths() -> None:
    shapes = ({0: Dim("n", min=1)}, {0: Dim("m", min=1)})
    program = dynamo_lite.export(Two(), (torch.randn(3), torch.randn(4)), dynamic_shapes=shapes).module()
    module = Two()
    for n, m in [(3, 4), (20, 1), (2, 30), (1, 1), (7, 40), (25, 2), (6, 9)]:
        x, y = torch.randn(n), torch.randn(m)
        torch.testing.assert_close(program(x, y), module(x, y))


def test_the_trace_tells_of_it() -> None:
    trace = dynamo_lite.trace(module_of(attribute, angles), (torch.randn(2, 5, 8),), dynamic_shapes=(NAMED,))
    assert "self.table is replaced for longer inputs" in trace.explain()
    (effect,) = trace.effects
    assert "[12, 8]" in effect.old


def test_check() -> None:
    module = module_of(attribute, angles)
    report = dynamo_lite.check(exported(module, NAMED), module, (torch.randn(2, 5, 8),))
    assert report, str(report)
