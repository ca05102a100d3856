"""Numbers within containers that vary from call to call: what a cache has seen, beside its tensors."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import InputMismatch, StructureMismatch
from dynamo_lite.program.trees import containers

WINDOW = 12


class Layer:
    """Keeps the last tokens, and counts all that it has seen."""

    def __init__(self) -> None:
        self.window = WINDOW
        self.seen = 0
        self.keys: Any = None

    def update(self, keys: torch.Tensor) -> torch.Tensor:
        self.seen += keys.shape[1]
        full = keys if self.keys is None else torch.cat([self.keys, keys], 1)
        self.keys = full[:, 1 - self.window :]
        return full


class Cache:
    def __init__(self) -> None:
        self.layers = [Layer(), Layer()]


class Step(nn.Module):
    """The attention of one token over what the cache holds, with its position and a mask made of the count."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.3))

    def forward(self, x: torch.Tensor, cache: Cache) -> tuple[torch.Tensor, Cache]:
        for layer in cache.layers:
            start = layer.seen
            full = layer.update(x)
            positions = torch.arange(start, start + x.shape[1])
            kept = torch.arange(start + x.shape[1]) <= positions if start < layer.window - 1 else None
            weights = (full * self.scale).softmax(1)
            x = (weights * full if kept is None else (weights * full) * kept).sum(1, keepdim=True) + positions
        return x, cache


def filled(tokens: int, seed: int = 0) -> Cache:
    generator = torch.Generator().manual_seed(seed)
    cache = Cache()
    for layer in cache.layers:
        layer.update(torch.randn(2, tokens, generator=generator))
    return cache


def token(seed: int) -> torch.Tensor:
    return torch.randn(2, 1, generator=torch.Generator().manual_seed(seed))


NAMED = {"keys": {1: Dim.AUTO}, "seen": Dim.AUTO}


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    """What a test declares holds for the process."""
    yield
    containers._NUMBERS.pop(Layer, None)


def exported(shapes: Any) -> Any:
    return dynamo_lite.export(Step(), (token(0), filled(5)), dynamic_shapes=shapes)


def assert_steps_equal(program: nn.Module, start: int, steps: int) -> None:
    mine, theirs = filled(start, 7), filled(start, 7)
    for step in range(steps):
        got, mine = program(token(step), mine)
        want, theirs = Step()(token(step), theirs)
        torch.testing.assert_close(got, want)
        for one, other in zip(mine.layers, theirs.layers):
            assert type(one.seen) is int and (one.seen, one.window) == (other.seen, other.window)
            torch.testing.assert_close(one.keys, other.keys)


@pytest.mark.parametrize("past", [Dim.AUTO, Dim("past", min=2, max=WINDOW - 3)], ids=["auto", "named"])
def test_a_count_that_dynamic_shapes_names_goes_in_and_out(past: Any) -> None:
    layer = {"keys": {1: past}, "seen": past}
    program = exported({"x": None, "cache": {"layers": [layer, layer]}})
    assert_steps_equal(program.module(), 3, 4)
    assert_steps_equal(program.module(), 6, 3)


def test_counts_that_differ_among_additional_inputs() -> None:
    shapes = torch.export.AdditionalInputs()
    shapes.add((token(0), filled(5)))
    shapes.add((token(0), filled(8)))
    assert_steps_equal(exported(shapes).module(), 4, 3)


def test_a_program_with_a_count_is_saved_and_loaded_where_nothing_is_declared() -> None:
    file = io.BytesIO()
    dynamo_lite.save(exported({"x": None, "cache": {"layers": [NAMED, NAMED]}}), file)
    containers._NUMBERS.pop(Layer)
    file.seek(0)
    assert_steps_equal(dynamo_lite.load(file).module(), 3, 4)


def test_a_count_that_contradicts_the_tensors_or_the_branch_is_rejected() -> None:
    program = exported({"x": None, "cache": {"layers": [NAMED, NAMED]}}).module()
    wrong, full = filled(6), filled(WINDOW + 4)
    wrong.layers[1].seen = 5  # eager raises as well: the mask has another length
    for cache in (wrong, full):  # a full window is the other branch
        with pytest.raises((ValueError, AssertionError, RuntimeError)):
            program(token(0), cache)


def test_without_a_name_the_count_is_a_constant_and_the_error_says_how_it_varies() -> None:
    program = exported(None).module()
    assert_steps_equal(program, 5, 1)
    other = filled(5)
    other.layers[0].seen = 6
    with pytest.raises(StructureMismatch, match=r"'seen': Dim\.AUTO"):
        program(token(0), other)


def test_specifications_may_leave_out_a_count_that_is_an_input() -> None:
    exported({"x": None, "cache": {"layers": [NAMED, NAMED]}})
    for layer in ({"keys": None}, [None], None):
        program = exported({"x": None, "cache": {"layers": [layer, layer]}}).module()
        assert_steps_equal(program, 5, 1)
        with pytest.raises(InputMismatch, match="seen"):
            program(token(0), _seen(6))


def _seen(count: int) -> Cache:
    cache = filled(5)
    cache.layers[0].seen = count
    return cache


def test_an_earlier_program_says_that_it_is_to_be_exported_again() -> None:
    earlier = exported(None).module()
    exported({"x": None, "cache": {"layers": [NAMED, NAMED]}})
    with pytest.raises(StructureMismatch, match="export this program again"):
        earlier(token(0), filled(5))


def test_register_container_declares_numbers() -> None:
    dynamo_lite.register_container(Layer, numbers=["seen"])
    assert [key.name for key in containers._flatten(filled(5).layers[0])[1].keys] == ["seen", "keys"]
    with pytest.raises(TypeError):
        dynamo_lite.register_container(Layer, lambda value: ([], None), lambda parts, context: None, ["seen"])
