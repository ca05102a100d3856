"""`squeeze` of sizes that vary: whether a dimension is left out is a branch of the program on its size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite

Run = Callable[[torch.Tensor], Any]
SIZES = (1, 2, 3, 5)


def repeated(x: torch.Tensor) -> Any:
    return ((x * 2).squeeze().repeat(1, 2, 1).reshape(x.shape[0] * 2, x.shape[1]) + 1).int()


def first(x: torch.Tensor) -> Any:
    return (x * 2).squeeze(0).reshape(-1)


def by_keyword(x: torch.Tensor) -> Any:
    return torch.squeeze(x * 2, dim=-1).sum()


def several(x: torch.Tensor) -> Any:
    return (x * 2).squeeze((0, 1)).exp().sum()


def known_ones(x: torch.Tensor) -> Any:
    return x.unsqueeze(1).squeeze((1, 2)).reshape(-1) * 3


def changed(x: torch.Tensor) -> Any:
    y = x * 1
    y.squeeze(0).add_(1)
    return y


@pytest.mark.parametrize("run", [repeated, first, by_keyword, several, known_ones, changed])
def test_every_size_is_taken(run: Run) -> None:
    shapes = {"x": {0: Dim("rows", min=1), 1: Dim("columns", min=1)}}
    program = dynamo_lite.export(run, (torch.randn(4, 3),), dynamic_shapes=shapes).module()
    for rows in SIZES:
        for columns in SIZES:
            x = torch.randn(rows, columns)
            torch.testing.assert_close(program(x.clone()), run(x.clone()))


@pytest.mark.parametrize("run", [first, by_keyword, several, known_ones, changed])
def test_its_decompositions_take_them(run: Run) -> None:
    """(Of `repeated` torch's decompositions raise an error: docs/limits.md, branches on sizes.)"""
    program = dynamo_lite.export(run, (torch.randn(4, 3),), dynamic_shapes={"x": {0: Dim("rows", min=1)}})
    decomposed = program.run_decompositions().module()
    for rows in SIZES:
        x = torch.randn(rows, 3)
        torch.testing.assert_close(decomposed(x.clone()), run(x.clone()))


def test_results_of_other_ranks_are_an_error_at_the_line() -> None:
    def other_rank(x: torch.Tensor) -> torch.Tensor:
        return x.squeeze() * 2

    shapes = {"x": {0: Dim("rows", min=1)}}
    with pytest.raises(dynamo_lite.ConstraintViolation, match=r"squeeze\(\)"):
        dynamo_lite.export(other_rank, (torch.randn(4, 3),), dynamic_shapes=shapes)
    program = dynamo_lite.export(other_rank, (torch.randn(4, 3),), dynamic_shapes={"x": {0: Dim.AUTO}}).module()
    assert program(torch.randn(2, 3)).shape == (2, 3)
    with pytest.raises(AssertionError, match="!= 1"):
        program(torch.randn(1, 3))


def test_sizes_that_are_constant_keep_their_graph() -> None:
    program = dynamo_lite.export(lambda x: x.squeeze(0) + 1, (torch.randn(1, 3),))
    assert [node.target for node in program.graph.nodes if node.op == "call_function"] == [
        torch.ops.aten.squeeze.dim,
        torch.ops.aten.add.Tensor,
    ]
