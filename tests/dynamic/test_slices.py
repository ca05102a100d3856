"""Slices of sizes that vary take every call that eager takes: neither a bound nor the size becomes a guard."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.export import Dim

import dynamo_lite

SIZES = range(1, 13)


class Slice(nn.Module):
    """The slice of an input, or of a table, with bounds that are numbers or follow from the length."""

    def __init__(self, start: Any, stop: Any, step: int | None, of_table: bool) -> None:
        super().__init__()
        self.start, self.stop, self.step, self.of_table = start, stop, step, of_table
        self.register_buffer("table", torch.arange(24.0).view(2, 12)[:, :6])

    def forward(self, x: torch.Tensor) -> tuple[Any, ...]:
        start, stop = (self._bound(bound, x.shape[1]) for bound in (self.start, self.stop))
        part = (self.table if self.of_table else x)[:, start : stop : self.step]
        # A view or a copy: asked where bounds whose sign varies with the length are not at play.
        flat = part.flatten() if type(self.start) is not tuple and type(self.stop) is not tuple else ()
        return part * 2, part.sum(1), part.shape[1], flat

    @staticmethod
    def _bound(bound: Any, length: int) -> Any:
        return bound if bound is None or type(bound) is int else bound[0] * length // bound[1] + bound[2]


def _same_at_all_sizes(module: nn.Module, dims: Any) -> None:
    program = dynamo_lite.export(module, (torch.rand(2, 7),), dynamic_shapes={"x": dims}).module()
    for batch in (1, 2):
        for length in SIZES:
            x = torch.rand(batch, length)
            if getattr(module, "of_table", False) and batch == 1:
                continue
            for got, want in zip(program(x), module(x)):
                assert type(got) is type(want)
                if not isinstance(want, torch.Tensor):
                    assert got == want
                else:
                    assert got.shape == want.shape and torch.equal(got, want), (batch, length)


FROM_LENGTH = st.tuples(st.sampled_from([1, -1, 2]), st.integers(1, 3), st.integers(-4, 3))
BOUNDS = st.one_of(st.none(), st.integers(-4, 9), FROM_LENGTH)


def _takes_one_at_most(start: Any, stop: Any, of_table: bool) -> bool:
    """Whether a slice has one element or none, whatever the length: that may still be a guard."""
    lengths = set()
    for length in range(1, 60):
        bounds = slice(Slice._bound(start, length), Slice._bound(stop, length))
        lengths.add(len(range(6 if of_table else length)[bounds]))
    return max(lengths) <= 1


def _dims(of_table: bool) -> dict[int, Any]:
    length = Dim("length", min=1)
    return {1: length} if of_table else {0: Dim("batch", min=1), 1: length}


@settings(max_examples=40)
@given(start=BOUNDS, stop=BOUNDS, of_table=st.booleans())
def test_every_size_is_taken(start: Any, stop: Any, of_table: bool) -> None:
    assume(not _takes_one_at_most(start, stop, of_table))
    _same_at_all_sizes(Slice(start, stop, None, of_table), _dims(of_table))


@settings(max_examples=20)
@given(start=st.sampled_from([None, 0, 1, 3]), stop=st.sampled_from([None, -1, 8, (1, 1, 0), (1, 2, 3)]),
       step=st.integers(2, 3))  # fmt: skip
def test_every_size_is_taken_with_a_step(start: Any, stop: Any, step: int) -> None:
    _same_at_all_sizes(Slice(start, stop, step, False), _dims(False))


@pytest.mark.parametrize("stop", [5, -2, (1, 2, 1)])
def test_no_guard_is_left_where_the_sizes_are_left_to_export(stop: Any) -> None:
    program = dynamo_lite.export(Slice(1, stop, None, False), (torch.rand(2, 7),),
                                 dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}})  # fmt: skip
    assert not any("size()" in guard for guard in program._guards_code)


class Positions(nn.Module):
    """The last positions of a table that ends: eager raises where the length is more than that."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("positions", torch.arange(8)[None])
        self.embedding = nn.Embedding(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positions = self.positions[:, : x.shape[1]][:, -x.shape[1] :]
        return x + self.embedding(positions).expand_as(x)


def test_the_end_of_a_table_is_the_end_of_a_dimension_without_max() -> None:
    module, dims = Positions(), {"x": {0: Dim("batch", min=1), 1: Dim("length", min=1)}}
    program = dynamo_lite.export(module, (torch.rand(2, 5, 4),), dynamic_shapes=dims).module()
    for batch, length in ((1, 1), (2, 8), (3, 2)):
        x = torch.rand(batch, length, 4)
        torch.testing.assert_close(program(x), module(x))
    with pytest.raises(RuntimeError, match="expand"):
        module(torch.rand(2, 9, 4))
    with pytest.raises(dynamo_lite.program.InputMismatch, match="8"):
        program(torch.rand(2, 9, 4))
