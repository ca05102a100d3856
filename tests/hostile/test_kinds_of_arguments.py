"""A call with another kind of tensor than the example's: where the program has asked, it is rejected, or eager's."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

import dynamo_lite

Function = Callable[..., torch.Tensor]


class Module(nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


class OfAnything(type):
    def __instancecheck__(cls, value: object) -> bool:
        return value is not None

    def __subclasscheck__(cls, kind: type) -> bool:
        raise AssertionError("the program does not ask for subclasses")


class Anything(metaclass=OfAnything):
    pass


ASKED: dict[str, Function] = {
    "type": lambda x: x * (2 if type(x) is torch.Tensor else 3),
    "class": lambda x: x * (2 if x.__class__ is torch.Tensor else 3),
    "isinstance": lambda x: x * (2 if isinstance(x, nn.Parameter) else 3),
    "isinstance of several": lambda x: x * (2 if isinstance(x, (int, nn.Parameter)) else 3),
    "isinstance of a union": lambda x: x * (2 if isinstance(x, int | nn.Parameter) else 3),
}
NOT_ASKED: dict[str, Function] = {
    "isinstance of tensors": lambda x: x * (2 if isinstance(x, torch.Tensor) else 3),
    "a class of the program's": lambda x: x * (2 if isinstance(x, Anything) else 3),
    "nothing": lambda x: x * 2,
}


def kinds() -> dict[str, torch.Tensor]:
    return {"tensor": torch.ones(3), "parameter": nn.Parameter(torch.ones(3))}


@pytest.mark.parametrize("example", ["tensor", "parameter"])
@pytest.mark.parametrize("name", [*ASKED, *NOT_ASKED])
def test_the_class_of_an_argument(name: str, example: str) -> None:
    module = Module((ASKED | NOT_ASKED)[name])
    program = dynamo_lite.export(module, (kinds()[example],)).module()
    for kind, x in kinds().items():
        if kind != example and name in ASKED:
            with pytest.raises(AssertionError, match="Guard failed"):
                program(x)
        else:
            torch.testing.assert_close(program(x), module(x))


@pytest.mark.parametrize("force", [False, True])
def test_an_array_of_a_tensor_that_requires_grad(force: bool) -> None:
    """numpy() raises an error then, unless it is forced."""
    module = Module(lambda x: torch.from_numpy(x.numpy(force=force) * 2))
    program = dynamo_lite.export(module, (torch.ones(3),)).module()
    torch.testing.assert_close(program(torch.ones(3)), module(torch.ones(3)))
    x = torch.ones(3, requires_grad=True)
    if force:
        torch.testing.assert_close(program(x), module(x))
        return
    with pytest.raises(RuntimeError, match="requires grad"):
        module(x)
    with pytest.raises(AssertionError, match="requires_grad"):
        program(x)


def test_numpy_writes_into_the_array_of_a_tensor() -> None:
    def add_one(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        array = y.numpy()
        np.add(array, 1, out=array)
        return y

    program = dynamo_lite.export(Module(add_one), (torch.ones(3),)).module()
    torch.testing.assert_close(program(torch.ones(3)), torch.full((3,), 2.0))


def test_a_copy_of_an_argument_requires_grad_as_the_argument_does() -> None:
    """Another kind of argument is rejected: of no leaf eager raises an error, of a leaf the copy requires grad."""
    program = dynamo_lite.export(lambda x: copy.deepcopy(x) * 2, (torch.ones(3),)).module()
    torch.testing.assert_close(program(torch.ones(3) * 4), torch.ones(3) * 8)
    with pytest.raises(AssertionError, match="requires_grad is False"):
        program(torch.ones(3, requires_grad=True))


@pytest.mark.parametrize("rounds", [False, True])
def test_inputs_that_a_side_changes_and_reads_may_not_share_memory(rounds: bool) -> None:
    """A side changes a clone: it would not see the change through another argument."""

    def forward(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        total = b * 0
        while rounds and a.sum() < 9:
            a.add_(1)
            total = total + b
        if a.sum() > 0:
            a.add_(1)
            return total + b * 2
        return b + 1

    program = dynamo_lite.export(forward, (torch.ones(3), torch.ones(3))).module()
    for value in (1.0, -1.0):
        one, other = torch.full((3,), value), torch.full((3,), value)
        torch.testing.assert_close(program(one, torch.ones(3)), forward(other, torch.ones(3)))
        torch.testing.assert_close(one, other)
    shared = torch.ones(3)
    with pytest.raises(AssertionError, match="untyped_storage"):
        program(shared, shared.view(3))
