"""Slices of a size that varies, written to: each call that eager takes is taken, whether the slice is all or a part."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import dynamo_lite

ROWS, COLUMNS = Dim("rows"), Dim("columns")


def assigned(table: Tensor, x: Tensor) -> Tensor:
    table = table.clone()
    table[:, : x.shape[1]] = x
    return table


def added(table: Tensor, x: Tensor) -> Tensor:
    table = table.clone()
    table[:, : x.shape[1]] += x
    return table


def scaled(table: Tensor, x: Tensor) -> Tensor:
    table = table.clone()
    table[:, : x.shape[1]] *= 2
    return table + x.sum()


def both(table: Tensor, x: Tensor) -> Tensor:
    out = torch.zeros(2, max(table.shape[1], x.shape[1]))
    out[:, : table.shape[1]] = table
    out[:, : x.shape[1]] += x
    return out


@pytest.mark.parametrize("program", [assigned, added, scaled, both])
def test_a_written_slice_adds_no_guard_of_its_own(program: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Whether the slice is contiguous is the kernel's question: `columns != rows` would be a guard."""
    run = dynamo_lite.export(
        program, (torch.rand(2, 5), torch.rand(2, 3)), dynamic_shapes=({1: ROWS}, {1: COLUMNS})
    ).module()
    taken = 0
    for rows, columns in product((1, 2, 3, 5), (1, 2, 3, 5, 6)):
        args = torch.rand(2, rows), torch.rand(2, columns)
        try:
            expected = program(*args)
        except RuntimeError:  # more columns than the table has
            with pytest.raises(RuntimeError):
                run(*args)
            continue
        torch.testing.assert_close(run(*args), expected)
        taken += 1
    assert taken >= 10
