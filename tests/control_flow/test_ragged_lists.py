"""Loops over sizes whose rounds add tensors of different lengths to a list: the last chunk is shorter than the others.

The oracle is eager, at each length from 1 to 13: of the program, of its decompositions, and of the loaded program.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite

Run = Callable[[torch.Tensor], Any]
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 13)


def chunks(x: torch.Tensor) -> Any:
    out = []
    for i in range(0, x.shape[0], 4):
        out.append(x[i : i + 4].cumsum(0))
    return torch.cat(out) + x


def clipped_ends(x: torch.Tensor) -> Any:
    length, out, state = x.shape[0], [], torch.zeros(3)
    for i in range((length + 3) // 4):
        begin = i * 4
        end = min(begin + 4, length)
        chunk = x[begin:end]
        out.append(chunk * state + (end - begin))
        state = state + chunk.sum(0)
    return torch.cat(out, dim=-2), state


def prefixes(x: torch.Tensor) -> Any:
    out = []
    for i in range(x.shape[0]):
        out.append(x[: i + 1].sum(0, keepdim=True) + x[: i + 1])
    return torch.cat(out)


def size_of_chunks_by_length(x: torch.Tensor) -> Any:
    size, out = (x.shape[0] + 3) // 4, []
    for i in range(0, x.shape[0], size):
        out.append(x[i : i + size].cumsum(0))
    return torch.cat(out)


def left_by_data(x: torch.Tensor) -> Any:
    out = []
    for i in range(0, x.shape[0], 4):
        chunk = x[i : i + 4]
        out.append(chunk.cumsum(0))
        if chunk.sum() > 0:
            break
    return torch.cat(out)


def two_lists(x: torch.Tensor) -> Any:
    one, other = [], []
    for i in range(0, x.shape[0], 4):
        one.append(x[i : i + 4].cumsum(0))
        other.append(x[i : i + 4].sum(0))
    return torch.cat(one), torch.stack(other), one[-1], len(one)


def another_dimension(x: torch.Tensor) -> Any:
    turned, out = x.t(), []
    for i in range(0, turned.shape[1], 4):
        out.append(turned[:, i : i + 4] * 2)
    return torch.cat(out, dim=1)


def comprehension(x: torch.Tensor) -> Any:
    return torch.cat([x[i : i + 4].cumsum(0) for i in range(0, x.shape[0], 4)])


def items_before_and_after(x: torch.Tensor) -> Any:
    out = [x[:1]]
    for i in range(0, x.shape[0], 4):
        out.append(x[i : i + 4])
    out.append(x[-1:])
    return torch.cat(out)


def windows_that_overlap(x: torch.Tensor) -> Any:
    out = []
    for i in range(0, x.shape[0], 4):
        out.append(x[max(i - 2, 0) : i + 4].softmax(0))
    return torch.cat(out)


def flattened(x: torch.Tensor) -> Any:
    out = []
    for i in range(0, x.shape[0], 4):
        out.append(x[i : i + 4].flatten())
    return torch.cat(out)


def split(x: torch.Tensor) -> Any:
    return torch.cat([piece.cumsum(0) for piece in x.split(4)])


def split_and_counted(x: torch.Tensor) -> Any:
    total = x.new_zeros(3)
    for number, piece in enumerate(torch.split(x, 4, dim=0)):
        total = total + piece.mean(0) * number
    return total


def split_twice(x: torch.Tensor) -> Any:
    out = []
    for one, other in zip(x.split(4), (x * 2).split(split_size=4, dim=0)):
        out.append(one.softmax(0) + other)
    return torch.cat(out)


def chunked(x: torch.Tensor) -> Any:
    return torch.cat([piece.cumsum(0) for piece in x.chunk(4)])


def chunked_from_behind(x: torch.Tensor) -> Any:
    return torch.cat([piece.cumsum(-1) for piece in torch.chunk(x.t(), chunks=3, dim=-1)], -1)


def chunks_of_one(x: torch.Tensor) -> Any:
    out = []
    for i in range(0, x.shape[0], 1):
        part = x[i : i + 1]
        out.append(part * part.shape[0])
    return torch.cat(out)


PROGRAMS = [
    chunks_of_one, chunks, clipped_ends, prefixes, size_of_chunks_by_length, left_by_data, two_lists, another_dimension,
    comprehension, items_before_and_after, windows_that_overlap, flattened, split, split_and_counted, split_twice,
    chunked, chunked_from_behind,
]  # fmt: skip


def _loaded(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


@pytest.mark.parametrize("example", [3, 10])
@pytest.mark.parametrize("run", PROGRAMS)
def test_every_length_is_taken(run: Run, example: int) -> None:
    shapes = {"x": {0: Dim("length", min=1)}}
    program = dynamo_lite.export(run, (torch.randn(example, 3),), dynamic_shapes=shapes)
    made = [program.module()]
    if example == 10:
        made += [program.run_decompositions().module(), _loaded(program).module()]
    for length in SIZES:
        x = torch.randn(length, 3)
        for module in made:
            torch.testing.assert_close(module(x), run(x))


def turned_around(x: torch.Tensor) -> Any:
    out = []
    for i in range(0, x.shape[0], 4):
        out.append(x[i : i + 4].exp())
    return torch.cat(out[::-1])


def looked_at(x: torch.Tensor) -> Any:
    out = []
    for i in range(0, x.shape[0], 4):
        out.append(x[i : i + 4].exp())
    return out[0]


def added_twice(x: torch.Tensor) -> Any:
    out = []
    for i in range(0, x.shape[0], 4):
        out.append(x[i : i + 4])
        out.append(x[i : i + 2])
    return torch.cat(out)


@pytest.mark.parametrize("run", [turned_around, looked_at, added_twice])
def test_other_uses_are_refused(run: Run) -> None:
    with pytest.raises(dynamo_lite.GraphBreak, match="branch-unsupported"):
        dynamo_lite.export(run, (torch.randn(10, 3),), dynamic_shapes={"x": {0: Dim("length", min=1)}})


def masked_rows(x: torch.Tensor) -> Any:
    out = []
    for row in x:
        out.append(row[row > 0])
    return torch.cat(out)


def a_branch_on_the_length(x: torch.Tensor) -> Any:
    out = []
    for piece in x.split(3):
        out.append(piece.sum(0, keepdim=True) if piece.shape[0] == 3 else piece * 2)
    return torch.cat(out)


def a_branch_on_data(x: torch.Tensor) -> Any:
    out = []
    for row in x:
        out.append(row[:2] if row.sum() > 0 else row[:1])
    return torch.cat(out)


def a_carried_offset(x: torch.Tensor) -> Any:
    out, offset = [], 0
    for piece in x.split(3):
        out.append(x[offset : offset + piece.shape[0]].sin())
        offset += piece.shape[0]
    return torch.cat(out)


@pytest.mark.parametrize("run", [masked_rows, a_branch_on_the_length, a_branch_on_data, a_carried_offset])
@pytest.mark.parametrize("spec", [Dim.AUTO, Dim("length", min=1)], ids=["auto", "named"])
def test_lengths_that_are_data_are_never_taken_for_the_first_iterations(run: Run, spec: Any) -> None:
    try:
        program = dynamo_lite.export(run, (torch.ones(5, 3),), dynamic_shapes={"x": {0: spec}}).module()
    except dynamo_lite.DynamoLiteError:
        return
    for length in SIZES:
        x = torch.randn(length, 3)
        try:
            got = program(x)
        except dynamo_lite.program.InputMismatch:
            assert spec is Dim.AUTO
            continue
        torch.testing.assert_close(got, run(x))


def begins_behind_the_end(x: torch.Tensor) -> Any:
    out = [x[:1]]
    for i in range(5, x.shape[0], 3):
        out.append(x[i : i + 3].sin())
    return torch.cat(out)


@pytest.mark.parametrize("example", [1, 2, 3, 5, 6, 9])
def test_a_range_that_may_have_no_round(example: int) -> None:
    program = dynamo_lite.export(begins_behind_the_end, (torch.ones(example, 3),), dynamic_shapes={"x": {0: Dim.AUTO}})
    x = torch.randn(example, 3)
    torch.testing.assert_close(program.module()(x), begins_behind_the_end(x))


def by_a_condition(x: torch.Tensor) -> torch.Tensor:
    return x[x.shape[0] > 3]


def test_a_condition_is_a_mask_and_no_number() -> None:
    program = dynamo_lite.export(by_a_condition, (torch.randn(5, 3),), dynamic_shapes={"x": {0: Dim.AUTO}}).module()
    for length in (4, 5, 9):
        x = torch.randn(length, 3)
        torch.testing.assert_close(program(x), by_a_condition(x))
    with pytest.raises(dynamo_lite.program.InputMismatch):
        program(torch.randn(3, 3))
