"""Tensor subclasses and __torch_function__: the program equals eager, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn.attention.bias import causal_lower_right

import dynamo_lite
from dynamo_lite.errors import GraphBreak, InvalidArguments, UnsupportedValue


class Empty(torch.Tensor):
    """Of no behaviour: results are of the class."""


class Swapping(torch.Tensor):
    """sin is cos."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(torch.cos if func is torch.sin else func, types, args, kwargs or {})


class Methods(torch.Tensor):
    def twice(self) -> torch.Tensor:
        return self * 2


class Weight(nn.Parameter):
    """Results are plain tensors."""

    def scaled(self) -> torch.Tensor:
        return self * 3


class Holder(nn.Module):
    """A parameter, a buffer and a constant of a class."""

    def __init__(self, cls: type, function: Callable[..., Any]) -> None:
        super().__init__()
        self.weight = Weight(torch.randn(3)) if cls is Weight else nn.Parameter(torch.randn(3).as_subclass(cls))
        if cls is not Weight:
            self.register_buffer("state", torch.randn(3).as_subclass(cls))
            self.constant = torch.randn(3).as_subclass(cls)
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self, x)


class Call(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def same(module: nn.Module, x: torch.Tensor) -> None:
    program = dynamo_lite.export(module, (x,))
    given, expected = program.module()(x), module(x)
    assert type(given) is type(expected)
    torch.testing.assert_close(given.as_subclass(torch.Tensor), expected.as_subclass(torch.Tensor))


@pytest.mark.parametrize("name", ["weight", "state", "constant"])
def test_state_of_an_empty_subclass(name: str) -> None:
    same(Holder(Empty, lambda self, x: torch.sin(getattr(self, name)) + x[1:]), torch.randn(4))


def test_a_parameter_class_with_methods() -> None:
    same(Holder(Weight, lambda self, x: self.weight.scaled() + x), torch.randn(3))


def test_an_input_of_an_empty_subclass() -> None:
    same(Call(lambda x: (x + 1).sum(0)[1:]), torch.randn(3, 4).as_subclass(Empty))


def asks_type(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if type(x * 2) is Empty else x


def asks_isinstance(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if isinstance(x * 2, (int, Empty)) else x


def asks_class(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.__class__ is Empty else x


@pytest.mark.parametrize("function", [asks_type, asks_isinstance, asks_class])
def test_a_question_about_the_class_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(Call(function), (torch.randn(3).as_subclass(Empty),))
    assert caught.value.id == "tensor-subclass"


def test_other_questions_are_answered() -> None:
    same(Call(lambda x: x + 1 if isinstance(x, torch.Tensor) else x), torch.randn(3).as_subclass(Empty))


@pytest.mark.parametrize("cls, text", [(Swapping, "__torch_function__"), (Methods, "of its own")])
def test_inputs_whose_class_a_stand_in_cannot_show(cls: type, text: str) -> None:
    with pytest.raises(InvalidArguments, match=text):
        dynamo_lite.export(Call(torch.sin), (torch.randn(3).as_subclass(cls),))


@pytest.mark.parametrize("cls", [Swapping, Methods])
def test_a_constant_of_such_a_class(cls: type) -> None:
    constant = torch.randn(3).as_subclass(cls)
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(Call(lambda x: x + torch.sin(constant)), (torch.randn(3),))
    assert caught.value.id == "tensor-subclass"


class Unit:
    """No tensor, but torch's functions take it."""

    def __init__(self, value: torch.Tensor, unit: str) -> None:
        self.value, self.unit = value, unit

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = [arg.value if isinstance(arg, Unit) else arg for arg in args]
        return Unit(func(*plain, **(kwargs or {})), "+".join(arg.unit for arg in args if isinstance(arg, Unit)))


def test_a_class_with_torch_function_that_is_no_tensor() -> None:
    def program(x: torch.Tensor) -> Any:
        both = torch.add(Unit(x, "m"), torch.sin(Unit(x * 2, "s")))
        return both.value if both.unit == "m+s" else x

    same(Call(program), torch.randn(3))


def ragged(x: torch.Tensor) -> torch.Tensor:
    return torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged)


def test_nested_tensors_are_refused() -> None:
    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", ragged(torch.ones(4, 3)))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.table.values().sum()

    x = torch.randn(4, 3)
    for sizes in (None, ({0: Dim.DYNAMIC},), ([Dim.AUTO] * 3,)):
        for given in (ragged(x), torch.nested.nested_tensor([x, x[:2]])):
            with pytest.raises(UnsupportedValue, match=r"^n: a NestedTensor"):
                dynamo_lite.export(lambda n: n.sin(), (given,), dynamic_shapes=sizes)
    with pytest.raises(InvalidArguments, match="the buffer table is a NestedTensor"):
        dynamo_lite.export(Holder(), (x,))
    with pytest.raises(GraphBreak, match=r"tensor-subclass.*NestedTensor"):
        dynamo_lite.export(lambda x: ragged(x).values(), (x,))


MAKERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "from numbers": lambda x: Empty([1.0, 2.0, 3.0]) + x,
    "from a tensor": lambda x: Methods(x).twice(),
    "_make_subclass": lambda x: torch.Tensor._make_subclass(Empty, x) + 1,
    "torch's own": lambda x: causal_lower_right(3, 3) if x.dim() else x,
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_a_subclass_made_in_forward_is_refused(maker: Callable[[torch.Tensor], torch.Tensor]) -> None:
    with pytest.raises(GraphBreak, match=r"^\[tensor-subclass\]"):
        dynamo_lite.export(Call(maker), (torch.randn(3),))
