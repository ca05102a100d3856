"""A decomposed program that changes an input, called with inputs that share memory: refused, never wrong.

The program as exported changes its inputs in place, and is held to eager on the same calls.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import dynamo_lite
from dynamo_lite.errors import InputMismatch, UnsupportedValue

Args = tuple[torch.Tensor, torch.Tensor]


def adds_first(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return y * 2


def writes_second(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    y[1:].mul_(3)
    return x + 1


def reads_both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * y


def one_tensor() -> Args:
    x = torch.arange(4.0)
    return x, x


def views() -> Args:
    x = torch.arange(5.0)
    return x[1:], x[:-1]


def apart() -> Args:
    x = torch.arange(8.0)
    return x[:4], x[4:]


CHANGING = [adds_first, writes_second]
SHARING = [one_tensor, views]


@pytest.mark.parametrize("make", SHARING)
@pytest.mark.parametrize("program", CHANGING)
def test_exported_equals_eager(program: Callable[..., Any], make: Callable[[], Args]) -> None:
    args, given = make(), make()
    want = program(*args)
    got = dynamo_lite.export(program, make()).module()(*given)
    assert torch.equal(got, want)
    assert all(map(torch.equal, given, args))


@pytest.mark.parametrize("make", SHARING)
@pytest.mark.parametrize("program", CHANGING)
def test_sharing_example_is_not_decomposed(program: Callable[..., Any], make: Callable[[], Args]) -> None:
    with pytest.raises(UnsupportedValue, match="shares memory with"):
        dynamo_lite.export(program, make()).run_decompositions()


@pytest.mark.parametrize("make", SHARING)
def test_sharing_example_that_is_only_read_is_decomposed(make: Callable[[], Args]) -> None:
    decomposed = dynamo_lite.export(reads_both, make()).run_decompositions()
    assert torch.equal(decomposed.module()(*make()), reads_both(*make()))


@pytest.mark.parametrize("program", CHANGING)
def test_decomposed_rejects_a_call_that_shares(program: Callable[..., Any]) -> None:
    decomposed = dynamo_lite.export(program, apart()).run_decompositions()
    file = io.BytesIO()
    dynamo_lite.save(decomposed, file)
    file.seek(0)
    for form in (decomposed, dynamo_lite.load(file)):
        module = form.module()
        for make in SHARING:
            with pytest.raises(InputMismatch, match=r"the very tensor|shares memory with the tensor"):
                module(*make())
        args, given = apart(), apart()  # parts of one storage that do not overlap
        want = program(*args)
        assert torch.equal(module(*given), want)
        assert all(map(torch.equal, given, args))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(1)
        return x * 2


def test_decomposed_rejects_one_stand_in_twice() -> None:
    """Tensors whose memory cannot be compared are at least not one."""
    module = dynamo_lite.export(adds_first, apart()).run_decompositions().module()
    with FakeTensorMode():
        x, y = torch.ones(4), torch.ones(4)
        with pytest.raises(InputMismatch, match="is the very tensor"):
            module(x, x)
        assert module(x, y).shape == (4,)


def test_decomposed_rejects_its_own_buffer() -> None:
    module = dynamo_lite.export(Counter(), (torch.ones(4),)).run_decompositions().module()
    with pytest.raises(InputMismatch, match="Input x is the very tensor total"):
        module(module.total)
    assert torch.equal(module(torch.ones(4)), torch.full((4,), 2.0))


def test_an_assigned_buffer_may_be_given_to_a_program_as_exported() -> None:
    class Assigns(Counter):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total = self.total + 1
            return x * 2

    program = dynamo_lite.export(Assigns(), (torch.ones(4),))
    assert torch.equal(program.module()(torch.ones(4)), torch.full((4,), 2.0))


def test_mapped_over_calls() -> None:
    """Within torch.vmap tensors have no memory to compare."""
    module = dynamo_lite.export(adds_first, (torch.ones(4), torch.ones(4))).run_decompositions().module()
    x, y = torch.arange(8.0).view(2, 4), torch.ones(2, 4)
    assert torch.equal(torch.vmap(module)(x, y), torch.full((2, 4), 2.0))


# -- guards that torch's stand-ins cannot be asked ---------------------------------------------------------------------


def asks_class(x: torch.Tensor) -> torch.Tensor:
    return x + len(x.__class__.__name__)


def asks_leaf(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.is_leaf else x - 1


def asks_layout(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.is_contiguous() else x + 2


@pytest.mark.parametrize("program", [asks_class, asks_leaf, asks_layout])
def test_guards_on_more_than_sizes_survive_decomposition(program: Callable[..., Any]) -> None:
    def example(rows: int) -> torch.Tensor:
        return torch.arange(2.0 * rows)[::2].requires_grad_()

    shapes = ({0: torch.export.Dim.AUTO},)
    module = dynamo_lite.export(program, (example(5),), dynamic_shapes=shapes).run_decompositions().module()
    for rows in (5, 7):
        assert torch.equal(module(example(rows)), program(example(rows)))
    other = {asks_layout: torch.arange(5.0), asks_leaf: example(5) * 1}.get(program)
    if other is not None:
        with pytest.raises((AssertionError, InputMismatch)):
            module(other)
