"""Slices and indices of lists whose length depends on a size, against eager: values, strides, memory, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite
from tests.dynamic.every_size import SPECS, Program, of

SIZES = tuple(range(1, 10))


def _soft(piece: Tensor) -> Tensor:
    return piece.softmax(0) * 2


def the_first_begins(x: Tensor) -> Tensor:
    pieces = list(x.split(4))
    total = pieces[0].sum(0)
    for piece in pieces[1:]:
        total = total * 0.5 + piece.sum(0)
    return total


def numbered_from_one(x: Tensor) -> Tensor:
    pieces = x.split(4)
    total = pieces[0].sum(0)
    for number, piece in enumerate(pieces[1:], 1):
        total = total + piece.sum(0) * number
    return total


def all_but_the_last(x: Tensor) -> Tensor:
    pieces = list(x.split(4))
    return torch.cat([x[:1], *pieces[:-1]])


def the_last_differs(x: Tensor) -> Tensor:
    pieces = x.split(4)
    return torch.cat([*[_soft(piece) for piece in pieces[:-1]], pieces[-1] * 3])


def from_behind(x: Tensor) -> Tensor:
    return torch.cat([_soft(piece) for piece in reversed(list(x.split(4)))])


def chunks_by_a_comprehension(x: Tensor) -> Tensor:
    chunks = [x[i : i + 4] for i in range(0, x.shape[0], 4)]
    return torch.cat([_soft(chunk) for chunk in chunks])


def chunks_without_the_first(x: Tensor) -> Tensor:
    chunks = [x[i : i + 4] * 2 for i in range(0, x.shape[0], 4)]
    return torch.cat([x[:1], *chunks[1:]]), torch.cat([x[:1], *chunks[:-1]])  # type: ignore[return-value]


def by_number(x: Tensor) -> Tensor:
    pieces = list(x.split(4))
    return torch.cat([_soft(pieces[i]) for i in range(len(pieces))])


def numbers(x: Tensor) -> Tensor:
    rows = list(range(x.shape[0]))
    return x[rows[::2]].sum(0), x[rows[1:]], len(rows[2:-1])  # type: ignore[return-value]


def changes_pieces(x: Tensor) -> Tensor:
    x = x * 1
    for piece in list(x.split(4))[1:]:
        piece.mul_(2)
    return x


def neighbours(x: Tensor) -> Tensor:
    rows, total = list(x.unbind(0)), torch.zeros(3)
    for one, other in zip(rows, rows[1:]):  # noqa: RUF007
        total = total + one * other
    return total


def neighbours_of_a_tuple(x: Tensor) -> Tensor:
    rows, total = x.unbind(0), torch.zeros(3)
    for one, other in zip(rows[:-1], rows[1:]):  # noqa: RUF007
        total = torch.tanh(total + one * other)
    return total


def every_other_row(x: Tensor) -> Tensor:
    rows = [row.sin() for row in x]
    return torch.stack(rows[::2])


def pairs(x: Tensor) -> Tensor:
    rows, total = list(x.unbind(0)), torch.zeros(3)
    for one, other in zip(rows[0::2], rows[1::2]):
        total = total + one * other
    return total


def in_the_other_order(x: Tensor) -> Tensor:
    rows = [row * 2 for row in x]
    return torch.stack(rows[::-2])


def with_a_start(x: Tensor) -> Tensor:
    rows = [row * 2 for row in x]
    return sum(rows[:-1], x.sum(0) * 0)  # type: ignore[return-value]


def bounds_by_sizes(x: Tensor) -> Tensor:
    rows = [row * 2 for row in x]
    half = x.shape[0] // 2
    return torch.stack([*rows[half:], x[0]])


def appended_before(x: Tensor) -> Tensor:
    states = [x[0] * 0]
    for row in x:
        states.append(torch.tanh(states[-1] + row))
    return torch.stack(states[1:]), torch.stack(states[:-1])  # type: ignore[return-value]


def the_round_before(x: Tensor) -> Tensor:
    rows, total = [row * 2 for row in x], torch.zeros(3)
    for i in range(1, len(rows)):
        total = total + rows[i] * rows[i - 1]
    return total


def asked_for_the_first(x: Tensor) -> Tensor:
    pieces = iter(x.split(4))
    total = next(pieces).sum(0)
    for piece in pieces:
        total = total * 0.5 + piece.sum(0)
    return total


def asked_for_two(x: Tensor) -> Tensor:
    rows = iter([row * 2 for row in torch.cat([x, x])])
    total = next(rows) - next(rows)
    for row in rows:
        total = torch.tanh(total + row)
    return total


def a_generator_that_has_begun(x: Tensor) -> Tensor:
    pieces = (_soft(piece) for piece in x.split(4))
    first = next(pieces)
    return torch.cat([first, *pieces])


def unequal(x: Tensor) -> Tensor:
    total = torch.zeros(3)
    for one, other in zip(x.unbind(0), x[2:].unbind(0)):
        total = total + one * other
    return total


class _Splits:
    """The pieces are held by an attribute, returned by a method and given to a function."""

    def __init__(self, x: Tensor) -> None:
        self.kept = x.split(4)

    def pieces(self, x: Tensor) -> Any:
        return x.split(4)


def held_elsewhere(x: Tensor) -> Tensor:
    def total(pieces: Any) -> Any:
        return sum(piece.sum(0) for piece in pieces)

    splits = _Splits(x)
    return total(splits.kept[:1]) + total(splits.pieces(x)) + total(x.split(4))  # type: ignore[no-any-return]


OF_PIECES: list[Program] = [
    the_first_begins, numbered_from_one, all_but_the_last, the_last_differs, from_behind, chunks_by_a_comprehension,
    chunks_without_the_first, by_number, numbers, changes_pieces, the_round_before, asked_for_the_first,
    a_generator_that_has_begun, unequal, held_elsewhere,
]  # fmt: skip
OF_ROWS: list[Program] = [
    neighbours, neighbours_of_a_tuple, every_other_row, pairs, in_the_other_order, with_a_start, bounds_by_sizes,
    appended_before, asked_for_two,
]  # fmt: skip


def _shares(one: Tensor, other: Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _agree(program: Program, module: Any, rows: int, with_gradient: bool) -> None:
    ours, theirs = (of(rows).requires_grad_(with_gradient) for _ in range(2))
    got, want = (pytree.tree_leaves(run(x)) for run, x in ((module, ours), (program, theirs)))
    assert len(got) == len(want)
    for one, other in zip(got, want):
        if not isinstance(other, Tensor):
            assert one == other
            continue
        torch.testing.assert_close(one, other)
        assert one.stride() == other.stride() and one.requires_grad == other.requires_grad
        assert _shares(one, ours) is _shares(other, theirs)
    if with_gradient and want[0].requires_grad:
        for outputs in (got, want):
            sum((t * t).sum() for t in outputs).backward()
        torch.testing.assert_close(ours.grad, theirs.grad)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
@pytest.mark.parametrize("program", [*OF_PIECES, *OF_ROWS], ids=lambda fn: fn.__name__)
def test_every_size(program: Program, spec: Any) -> None:
    module = dynamo_lite.export(program, (of(10),), dynamic_shapes=({0: spec},)).module()
    for rows in SIZES:
        _agree(program, module, rows, with_gradient=False)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
@pytest.mark.parametrize("program", OF_ROWS, ids=lambda fn: fn.__name__)
def test_every_size_with_gradients(program: Program, spec: Any) -> None:
    """Also where a loop has no round: torch's scan needs one, so that it is recorded within a torch.cond."""
    module = dynamo_lite.export(program, (of(10).requires_grad_(),), dynamic_shapes=({0: spec},)).module()
    for rows in SIZES:
        _agree(program, module, rows, with_gradient=True)


def test_an_index_that_may_not_be_there_is_not_captured() -> None:
    def forward(x: Tensor) -> Tensor:
        pieces = [piece * 2 for piece in x.split(4)]
        return pieces[x.shape[0] - 8].sum(0)

    module = dynamo_lite.export(forward, (of(10),), dynamic_shapes=({0: Dim.AUTO},)).module()
    for rows in SIZES:
        try:
            got = module(of(rows))
        except dynamo_lite.InputMismatch:
            continue
        torch.testing.assert_close(got, forward(of(rows)))


def test_a_promise_that_is_lost_names_what_the_captured_program_lacks() -> None:
    """Not that of the program whose loops are unrolled, which takes one size."""

    def forward(x: Tensor) -> Tensor:
        rows = [row * 2 for row in x]
        return torch.stack(rows[1:])  # eager has no row to stack where there is one

    with pytest.raises(dynamo_lite.ConstraintViolation, match="no size below 2"):
        dynamo_lite.export(forward, (of(10),), dynamic_shapes=({0: Dim("rows", min=1, max=40)},))


def _rest_of_pieces(x: Tensor) -> Tensor:
    for piece in x.split(4)[1:]:
        return piece * 2
    return x * 3


def _next_or_first(x: Tensor) -> Tensor:
    pieces = iter(x.split(4))
    first = next(pieces)
    return next(pieces, first) * 2


def _stop_is_caught(x: Tensor) -> Tensor:
    pieces = iter(x.split(4))
    first = next(pieces)
    try:
        return next(pieces) * 2
    except StopIteration:
        return first * 3


def _last_of_both(x: Tensor) -> Tensor:
    pieces = iter(x.split(4))
    return [next(pieces), *pieces][-1] * 2


def _begun_generator(x: Tensor) -> Tensor:
    pieces = (piece * 2 for piece in x.split(4))
    return torch.cat([next(pieces) * 3, *pieces])


def _rows_after_the_first(x: Tensor) -> Tensor:
    rows = iter(x.unbind(0))
    return torch.stack([next(rows) * 3, *[row * 2 for row in rows]])


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize(
    "program",
    [_rest_of_pieces, _next_or_first, _stop_is_caught, _last_of_both, _begun_generator, _rows_after_the_first],
)
def test_no_item_is_left(program: Callable[[Tensor], Tensor], rows: int) -> None:
    """A tensor without rows has one empty piece, and a list of no pieces none."""
    exported = dynamo_lite.export(program, (torch.randn(rows, 2),), dynamic_shapes=({0: Dim.AUTO},)).module()
    for count in range(1, 12):
        x = torch.randn(count, 2)
        try:
            found = exported(x)
        except dynamo_lite.InputMismatch:
            assert count != rows
            continue
        torch.testing.assert_close(found, program(x))


def test_one_row_and_a_named_dim() -> None:
    """An operator that returns no tensor: the number of rows that are left."""

    def program(x: Tensor) -> Tensor:
        rows = iter(x.unbind(0))
        first = next(rows)
        return next(rows, first) * 2

    with pytest.raises(dynamo_lite.errors.ConstraintViolation):
        dynamo_lite.export(program, (torch.ones(1, 2),), dynamic_shapes=({0: Dim("n", min=1, max=40)},))


def test_pieces_of_rows_whose_input_requires_grad() -> None:
    def program(x: Tensor) -> Tensor:
        total = x[0] * 0
        for piece in x.split(4):
            for row in piece:
                total = total * 0.9 + row
        return total

    x = torch.randn(10, 3, requires_grad=True)
    module = dynamo_lite.export(program, (x,), dynamic_shapes=({0: Dim.AUTO},)).module()
    torch.testing.assert_close(module(x), program(x))
