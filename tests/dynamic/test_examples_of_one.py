"""An example in which a size is 1 that other calls have not: one chunk, one window, a batch of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.relations import and_, ge

CHUNK = 8


def _chunks(x: torch.Tensor) -> torch.Tensor:
    """(batch, length, 4) → (batch, chunks, 8, 4), padded with zeros."""
    padded = F.pad(x, (0, 0, 0, -x.shape[1] % CHUNK))
    return padded.reshape(x.shape[0], -1, CHUNK, 4)


def cumulative(x: torch.Tensor) -> torch.Tensor:
    return _chunks(x).cumsum(dim=2)


def masked(x: torch.Tensor) -> torch.Tensor:
    chunks = _chunks(x)
    return (chunks @ chunks.transpose(-1, -2)).masked_fill(torch.ones(CHUNK, CHUNK).triu(1).bool(), 0.0).softmax(-1)


def contracted(x: torch.Tensor) -> torch.Tensor:
    chunks = _chunks(x)
    return torch.einsum("bclh,bcsh->bcls", chunks, chunks)


def written(x: torch.Tensor) -> torch.Tensor:
    chunks = _chunks(x).clone()
    for at in range(1, CHUNK):
        chunks[..., at, :] = chunks[..., at, :] + chunks[..., at - 1, :]
    return chunks


def laid_out_anew(x: torch.Tensor) -> torch.Tensor:
    chunks = _chunks(x).clone()
    chunks.transpose_(1, 2)
    return chunks.cumsum(1) + 1


def like_the_first(x: torch.Tensor) -> torch.Tensor:
    chunks = _chunks(x).permute(0, 1, 3, 2)
    return torch.cat([torch.zeros_like(chunks[:, :1]), chunks], dim=1)


def converted(x: torch.Tensor) -> torch.Tensor:
    windows = x.shape[1] // CHUNK + 1
    positions = torch.arange(windows)[None].expand(x.shape[0], -1)
    return positions[..., None].float() * torch.ones(3)


def recurrent(x: torch.Tensor) -> torch.Tensor:
    chunks, state, outs = _chunks(x), torch.zeros(x.shape[0], 4), []
    for at in range(chunks.shape[1]):
        state = state * 0.5 + chunks[:, at].sum(1)
        outs.append(state)
    return torch.stack(outs, 1)


def trimmed(x: torch.Tensor) -> torch.Tensor:
    pad = -x.shape[1] % CHUNK
    whole = _chunks(x).cumsum(2).reshape(x.shape[0], -1, 4)
    if pad > 0:
        whole = whole[:, : x.shape[1]]
    return whole * 2


PROGRAMS = [cumulative, masked, contracted, written, laid_out_anew, like_the_first, converted, recurrent, trimmed]


class Program(nn.Module):
    def __init__(self, run: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self._run = run

    def forward(self, x: torch.Tensor) -> Any:
        return self._run(x)


@pytest.mark.parametrize("run", PROGRAMS, ids=lambda run: run.__name__)
@pytest.mark.parametrize("batch", [1, 2])
def test_one_chunk_of_the_example_is_not_the_only_one(run: Callable[[torch.Tensor], Any], batch: int) -> None:
    module, sizes = Program(run), {0: Dim("batch", min=1), 1: Dim("length", min=1)}
    with torch.no_grad():
        exported = dynamo_lite.export(module, (torch.rand(batch, 5, 4),), dynamic_shapes={"x": sizes}).module()
    for rows in (1, 2, 3):
        for length in (1, 2, 7, 8, 9, 16, 17):
            x = torch.rand(rows, length, 4)
            got, want = exported(x), module(x)
            assert got.shape == want.shape and got.stride() == want.stride()
            torch.testing.assert_close(got, want)


def test_sizes_that_are_broadcast_stay_guards() -> None:
    """The kernel takes no larger sizes then: what the example answers is a guard."""

    def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    shapes = {"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}}
    program = dynamo_lite.export(add, (torch.rand(1, 3), torch.rand(4, 3)), dynamic_shapes=shapes).module()
    x, y = torch.rand(1, 3), torch.rand(6, 3)
    torch.testing.assert_close(program(x, y), x + y)
    with pytest.raises(dynamo_lite.program.InputMismatch):
        program(torch.rand(6, 3), y)


def test_an_example_is_found_far_from_the_sizes_at_hand() -> None:
    env = ShapeEnv()
    s, t = env.backed(8, lo=0), env.backed(3, lo=1)
    found = env.example_of(ge(s // 128, 1))
    assert found is not None and found[s.as_atom()] // 128 >= 1
    found = env.example_of(and_(ge(s // 300, 2), ge(t, 2)))
    assert found is None or (found[s.as_atom()] // 300 >= 2 and found[t.as_atom()] >= 2)


def same_object(x: torch.Tensor) -> Any:
    turned = _chunks(x).transpose(1, 2)
    return x * 2 if turned.contiguous() is turned else x * 3


def written_copy(x: torch.Tensor) -> Any:
    turned = (_chunks(x) * 1).transpose(1, 2)
    copy = turned.contiguous()
    copy.add_(1)
    return turned * 2, copy


def written_rows(x: torch.Tensor) -> Any:
    turned = (_chunks(x) * 1).transpose(1, 2)
    rows = turned.reshape(x.shape[0], -1)
    rows.add_(1)
    return turned * 2, rows


def both_returned(x: torch.Tensor) -> Any:
    turned = (_chunks(x) * 1).transpose(1, 2)
    return turned, turned.contiguous()


@pytest.mark.parametrize("run", [same_object, written_copy, written_rows, both_returned], ids=lambda run: run.__name__)
@pytest.mark.parametrize("length", [5, 20])
def test_a_view_that_is_one_for_one_chunk_only(run: Callable[[torch.Tensor], Any], length: int) -> None:
    """What C++ remembers of a layout is not taken from one size to another, nor is whether a tensor is a copy."""
    module = Program(run)
    exported = dynamo_lite.export(module, (torch.rand(2, length, 4),), dynamic_shapes={"x": {1: Dim.AUTO}}).module()
    taken = 0
    for other in (length, 5, 8, 9, 20):
        x = torch.rand(2, other, 4)
        try:
            got = exported(x)
        except dynamo_lite.program.InputMismatch:
            continue
        taken += 1
        want = module(x)
        pairs = [*zip(got, want, strict=True)] if isinstance(want, tuple) else [(got, want)]
        for one, two in pairs:
            assert one.stride() == two.stride()
            torch.testing.assert_close(one, two)
        memory = [len({tensor.untyped_storage()._cdata for tensor in tensors}) for tensors in zip(*pairs)]
        assert memory[0] == memory[1]
    assert taken
