"""Strides that a program reads of results: eager's at every size that is admitted, and no guard on other inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import dynamo_lite

Program = Callable[[Tensor], Any]


def chunks(x: Tensor) -> Tensor:
    """As in Longformer: overlapping windows over a tensor that is a view of another where the batch is 1."""
    batch, length, heads, width = x.shape
    y = (x * 2).transpose(1, 2).reshape(batch * heads, length, width)
    rows, step, last = y.stride()
    return y.as_strided((y.shape[0], length, 1, width), (rows, step, step, last)) * 2


def of_a_reshape(x: Tensor) -> tuple[int, ...]:
    return (x * 2).transpose(1, 2).reshape(-1, x.shape[1], x.shape[3]).stride()


def of_the_last_dimension(x: Tensor) -> Tensor:
    return x.transpose(1, 2).contiguous() * x.transpose(1, 2).contiguous().stride(-1)


def by_contiguity(x: Tensor) -> Tensor:
    y = (x * 2).transpose(1, 2).reshape(-1, x.shape[1], x.shape[3])
    return y * (2 if y.is_contiguous() else 3)


PROGRAMS = [chunks, of_a_reshape, of_the_last_dimension, by_contiguity]


def _shown(value: Any) -> Any:
    return (value.tolist(), value.shape, value.stride()) if isinstance(value, Tensor) else tuple(map(int, value))


def _check(module: Program, program: Program, x: Tensor) -> bool:
    """Whether the program takes the call; then it is eager's."""
    try:
        got = module(x)
    except (AssertionError, RuntimeError):
        return False
    assert _shown(got) == _shown(program(x)), (x.shape, x.stride())
    return True


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda fn: fn.__name__)
def test_every_admitted_size(program: Program) -> None:
    sizes = {0: Dim.AUTO, 1: Dim.AUTO, 2: Dim.AUTO}
    module = dynamo_lite.export(program, (torch.randn(3, 4, 3, 6),), dynamic_shapes=(sizes,)).module()
    taken = 0
    for shape in ((1, 2, 2, 6), (1, 1, 3, 6), (1, 4, 1, 6), (2, 1, 2, 6), (2, 3, 1, 6), (2, 3, 4, 6)):
        taken += _check(module, program, torch.arange(float(torch.Size(shape).numel())).view(shape))
    assert taken >= 1


def _cut(rows: int, columns: int) -> Tensor:
    return torch.arange(72.0).view(8, 9)[:rows, :columns]


def _by_a_view(x: Tensor) -> Tensor:
    try:
        return x.view(-1) * 2
    except RuntimeError:
        return x.reshape(-1) * 3


def _by_the_base(x: Tensor) -> Tensor:
    y = (x * 2).reshape(-1)
    return y + (1 if y._base is not None else 0)


LAYOUTS: list[Callable[[int, int], Tensor]] = [
    lambda n, m: torch.arange(float(n * m)).view(n, m),
    lambda n, m: torch.arange(float(n * m)).view(m, n).t(),
    _cut,
    lambda n, m: torch.arange(float(m)).expand(n, m),
]


@pytest.mark.parametrize("program", [_by_a_view, _by_the_base])
@pytest.mark.parametrize("like", LAYOUTS[1:3], ids=["transposed", "cut"])
def test_examples_that_are_not_contiguous(like: Callable[[int, int], Tensor], program: Program) -> None:
    """Silently wrong at a size of 1, where a view succeeds that the example's layout does not have."""
    module = dynamo_lite.export(program, (like(3, 4),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},)).module()
    for layout in LAYOUTS:
        for rows, columns in ((1, 1), (1, 3), (3, 1), (2, 2), (3, 4)):
            _check(module, program, layout(rows, columns))


def _embedded(ids: Tensor) -> Tensor:
    y = torch.nn.functional.embedding(ids, torch.arange(30.0).view(10, 3))
    return y * y.stride(0)


def test_inputs_behind_a_contiguous_result_have_any_layout() -> None:
    """A lookup in a table is contiguous, however the indices are laid out."""
    ids = torch.arange(8).view(2, 4)
    program = dynamo_lite.export(_embedded, (ids,), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    assert not [guard for guard in program._guards_code if "stride" in guard]
    for rows in (ids, ids[:1, :2], ids[:, :1], ids.t(), ids[:1].expand(3, 4)):
        assert _check(program.module(), _embedded, rows)


def _padded(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    missing = -ids.shape[1] % 4
    y = ids * 2
    if missing:
        y = torch.nn.functional.pad(y, (0, missing))
        mask = torch.nn.functional.pad(mask, (0, missing))
        if y.shape[1] % 8:
            mask = torch.nn.functional.pad(mask, (0, 4))
    return y * y.stride(0), mask * 1


def _looped(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Longformer's way, in rounds: the strides that it asks for are of one result of the loop."""
    y, z, at = ids * 2, mask * 2, 0
    while at < ids.shape[1]:
        y, z, at = y + 1, z + at, at + 2
    return y * y.stride(0), z.sum(1)


@pytest.mark.parametrize("program", [_padded, _looped])
def test_an_operand_that_a_result_is_not_computed_from_has_any_layout(program: Any) -> None:
    sizes = {0: Dim("rows", min=1), 1: Dim("columns", min=1)}
    ids = torch.arange(14).view(2, 7)
    exported = dynamo_lite.export(program, (ids, ids + 1), dynamic_shapes=(sizes, sizes))
    assert not [guard for guard in exported._guards_code if "mask" in guard and "stride" in guard]
    for rows, columns in ((1, 1), (1, 4), (2, 1), (3, 5), (2, 8)):
        given = torch.arange(rows * columns).view(rows, columns), torch.arange(80).view(8, 10)[:rows, :columns]
        for got, wanted in zip(exported.module()(*given), program(*given)):
            assert torch.equal(got, wanted)


def test_one_stride_of_an_input_is_no_condition_on_the_others() -> None:
    call = lambda x: x * 2 if x.stride(-1) == 1 else x * 3  # noqa: E731
    program = dynamo_lite.export(call, (torch.ones(3, 4),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    assert _check(program.module(), call, _cut(3, 4))
    assert not _check(program.module(), call, _cut(4, 3).t())


def test_the_offset_of_a_view_depends_on_strides() -> None:
    """Silently wrong for another layout: a view begins at a multiple of a stride."""
    call = lambda x: x + x[:, 1:].storage_offset() + (x * 2)[1].storage_offset()  # noqa: E731
    program = dynamo_lite.export(call, (torch.ones(3, 4),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    assert _check(program.module(), call, torch.ones(2, 5))
    for layout in LAYOUTS[1:]:
        _check(program.module(), call, layout(3, 4))


def test_dimensions_of_one_element_have_any_stride() -> None:
    """Whether memory can be viewed does not depend on them."""
    program = dynamo_lite.export(_by_a_view, (torch.ones(3, 4),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    for rows, columns in ((1, 4), (1, 1), (3, 9)):
        assert _check(program.module(), _by_a_view, _cut(rows, columns))
    assert not _check(program.module(), _by_a_view, _cut(3, 4))
