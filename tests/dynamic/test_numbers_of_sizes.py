"""Tensors that a program makes of sizes: their numbers are expressions of the sizes, not numbers of data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite

Run = Callable[[torch.Tensor], Any]


def divided(x: torch.Tensor) -> Any:
    padded = torch.nn.functional.pad(x, (0, 0, 0, -x.shape[0] % 2))
    return padded.view(torch.div(padded.shape[0], 2, rounding_mode="trunc"), 2, 3).sum(1)


def rounded_down(x: torch.Tensor) -> Any:
    return x[: torch.div(torch.tensor(x.shape[0]), 3, rounding_mode="floor")]


def made_a_tensor(x: torch.Tensor) -> Any:
    return x.reshape(torch.tensor(x.shape[0] * 3))


def branched_on(x: torch.Tensor) -> Any:
    half = torch.tensor(x.shape[0]) * 2 + 1
    return x * 2 if half.item() > 7 else x * 3


def added(x: torch.Tensor) -> Any:
    return x.new_zeros(torch.full((), x.shape[0], dtype=torch.int64) - 1 + x.shape[1], 2)


@pytest.mark.parametrize("run", [divided, rounded_down, made_a_tensor, branched_on, added])
def test_every_size_is_taken(run: Run) -> None:
    program = dynamo_lite.export(run, (torch.randn(8, 3),), dynamic_shapes={"x": {0: Dim("n", min=1)}})
    assert not any(node.target is torch.ops.aten.item.default for node in program.graph.nodes)
    for n in (1, 2, 3, 4, 5, 8, 9):
        x = torch.randn(n, 3)
        torch.testing.assert_close(program.module()(x), run(x))


def changed_in_place(x: torch.Tensor) -> Any:
    number = torch.tensor(x.shape[0])
    number.add_(1)
    return x * number.item()


def changed_through_a_view(x: torch.Tensor) -> Any:
    number = torch.tensor(x.shape[0])
    number.view(1)[0] = 5
    return x * number.item()


def changed_between(x: torch.Tensor) -> Any:
    number = torch.tensor(x.shape[0])
    before = number.item()
    number.mul_(2)
    return x * before + number.item()


def negative(x: torch.Tensor) -> Any:
    return x * torch.div(x.shape[0] - 20, 3, rounding_mode="trunc").item()


def wrapped_around(x: torch.Tensor) -> Any:
    return x * torch.tensor(x.shape[0], dtype=torch.uint8).item()


@pytest.mark.parametrize("run", [changed_in_place, changed_through_a_view, changed_between, negative, wrapped_around])
def test_what_else_becomes_of_it_is_as_in_eager(run: Run) -> None:
    program = dynamo_lite.export(run, (torch.randn(8, 3),), dynamic_shapes={"x": {0: Dim("n", min=1)}}).module()
    for n in (1, 2, 8, 19, 22):
        x = torch.randn(n, 3)
        torch.testing.assert_close(program(x), run(x))
