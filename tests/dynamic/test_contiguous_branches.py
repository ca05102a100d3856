"""`if not y.is_contiguous(): y = y.contiguous()` with a size that may be 1: a branch on that size, at every size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import dynamo_lite
from dynamo_lite.symbolic_shapes.expressions.relations import not_
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate


def first_stream(x: Tensor) -> tuple[Tensor, Tensor]:
    """As in ProphetNet: the first of two streams, and the others, which share its memory where there is one row."""
    streams = x * 2
    first, others = streams[:, 0], streams[:, 1:]
    if not first.is_contiguous():
        first = first.contiguous()
    return first.view(-1), others


def rows_or_columns(x: Tensor) -> Tensor:
    y = x.transpose(0, 1) + 0
    y = y if y.is_contiguous() else y.contiguous()
    return y.view(-1) * 2


def other_results(x: Tensor) -> Tensor:
    y = x.transpose(0, 1)
    return y.sum() * 2 if y.is_contiguous() else y.sum() * 3


def nested(x: Tensor) -> Tensor:
    y = (x * 2)[:, 0]
    if x.shape[0] > 2:
        y = y if y.is_contiguous() else y.contiguous() + 1
    return y.sum(1)


def told(x: Tensor) -> tuple[Tensor, bool]:
    return x + 1, x[:, 0].is_contiguous()


def asserted(x: Tensor) -> Tensor:
    y = x[:, 0]
    assert y.is_contiguous() or x.shape[0] > 1
    return y + 1


PROGRAMS = (first_stream, rows_or_columns, other_results, nested, told, asserted)


def shown(value: Any) -> list[Any]:
    leaves = torch.utils._pytree.tree_leaves(value)
    memory = [leaf.untyped_storage().data_ptr() for leaf in leaves if isinstance(leaf, Tensor)]
    rows = [(x.tolist(), x.shape, x.stride()) if isinstance(x, Tensor) else x for x in leaves]
    return [*rows, [memory.index(key) for key in memory]]


@pytest.mark.parametrize("dim", [Dim.AUTO, Dim("rows", min=1)], ids=["auto", "named"])
@pytest.mark.parametrize("call", PROGRAMS)
def test_every_size(call: Callable[[Tensor], Any], dim: Any) -> None:
    program = dynamo_lite.export(call, (torch.randn(3, 2, 4),), dynamic_shapes=({0: dim},))
    for rows in (1, 2, 3, 5):
        x = torch.randn(rows, 2, 4)
        assert shown(program.module()(x.clone())) == shown(call(x.clone())), rows


@pytest.mark.parametrize("call", [first_stream, rows_or_columns])
def test_sides_that_compute_the_same_are_no_branch(call: Callable[[Tensor], Any]) -> None:
    trace = dynamo_lite.trace(call, (torch.randn(3, 2, 4),), dynamic_shapes=({0: Dim("rows", min=1)},))
    assert "cond" not in [str(node.target) for node in trace.program.graph.nodes]
    (compared,) = trace.compared
    assert compared.verify() > 0


def test_a_proof_of_another_layout_is_rejected() -> None:
    trace = dynamo_lite.trace(rows_or_columns, (torch.randn(3, 2, 4),), dynamic_shapes=({0: Dim("rows", min=1)},))
    (compared,) = trace.compared
    ((side, shown_),) = compared.equalities
    with pytest.raises(BadCertificate):
        replace(compared, equalities=((not_(side), shown_),)).verify()


def test_memory_that_the_caller_sees_narrows() -> None:
    """The program gives the input itself where it has one row; both sides cannot be one program."""

    def call(x: Tensor) -> Tensor:
        y = x.transpose(0, 1)
        if not y.is_contiguous():
            y = y.contiguous()
        y.add_(1)
        return y

    program = dynamo_lite.export(call, (torch.randn(3, 4),), dynamic_shapes=({0: Dim.AUTO},))
    for rows in (2, 3, 5):
        x = torch.randn(rows, 4)
        mine, theirs = x.clone(), x.clone()
        assert torch.equal(program.module()(mine), call(theirs)) and torch.equal(mine, theirs)
