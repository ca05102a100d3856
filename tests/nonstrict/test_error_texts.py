"""strict=False: texts of errors that stand-ins have a part in, caught and returned by the program, against eager."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite import errors

OF_PYTHON: dict[str, Callable[[Any, Tensor], Any]] = {
    "tensor_plus_text": lambda self, x: x + "a",  # type: ignore[operator]
    "text_plus_tensor": lambda self, x: "a" + x,  # type: ignore[operator]
    "bytes": lambda self, x: b"a" + x,  # type: ignore[operator]
    "attribute": lambda self, x: x.nothing,
    "attribute_of_a_parameter": lambda self, x: self.weight.nothing,
    "attribute_of_a_buffer": lambda self, x: self.kept.nothing,
    "deleted": lambda self, x: delattr(x, "nothing"),
    "called": lambda self, x: x(1),  # type: ignore[operator]
    "compared": lambda self, x: x < "a",  # type: ignore[operator]
    "sorted": lambda self, x: sorted([object(), x]),  # type: ignore[type-var]
    "joined": lambda self, x: ",".join([x]),  # type: ignore[list-item]
    "json": lambda self, x: json.dumps(x),
    "memoryview": lambda self, x: memoryview(x),  # type: ignore[arg-type]
    "next": lambda self, x: next(x),  # type: ignore[call-overload]
    "keywords": lambda self, x: dict(**x),  # type: ignore[arg-type]
    "signature": lambda self, x: torch.add(x),  # type: ignore[call-overload]
    "operand": lambda self, x: torch.sin("a", x),  # type: ignore[call-overload]
    "attribute_of_a_size": lambda self, x: x.shape[0].nothing,  # type: ignore[attr-defined]
    "size_plus_text": lambda self, x: x.shape[0] + "a",  # type: ignore[operator]
    "size_called": lambda self, x: x.shape[0](),  # type: ignore[operator]
    "length_of_a_size": lambda self, x: len(x.shape[0]),  # type: ignore[arg-type]
    "item_of_a_size": lambda self, x: operator.getitem(x.shape[0], 0),  # type: ignore[call-overload]
}


class Catches(nn.Module):
    def __init__(self, fails: Callable[[Any, Tensor], Any]) -> None:
        super().__init__()
        self.fails = fails
        self.weight = nn.Parameter(torch.ones(3))
        self.kept: Tensor
        self.register_buffer("kept", torch.ones(3))

    def forward(self, x: Tensor) -> Any:
        try:
            self.fails(self, x)
        except Exception as error:
            return x + 1, type(error).__name__, str(error)
        return x, "", ""


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", OF_PYTHON)
def test_words_are_eagers(name: str, dynamic: bool) -> None:
    module = Catches(OF_PYTHON[name])
    shapes = ({0: Dim("rows", min=2, max=99)},) if dynamic else None
    program = dynamo_lite.export(module, (torch.randn(4, 3),), dynamic_shapes=shapes, strict=False).module()
    for rows in (4, 6) if dynamic else (4,):
        given = torch.randn(rows, 3)
        got, want = program(given), module(given)
        assert got[1:] == want[1:] and want[1]
        assert torch.equal(got[0], want[0])


WITH_SIZES: dict[str, Callable[[Any, Tensor], Any]] = {
    "product": lambda self, x: x @ torch.ones(7, 2),
    "view": lambda self, x: x.view(5, 7),
    "reshape": lambda self, x: x.reshape(x.shape[0] + 1),
    "linear": lambda self, x: nn.functional.linear(x, torch.ones(2, 9)),
}


@pytest.mark.parametrize("name", WITH_SIZES)
def test_a_text_with_sizes_takes_them(name: str) -> None:
    module, x = Catches(WITH_SIZES[name]), torch.randn(4, 3)
    assert dynamo_lite.export(module, (x,), strict=False).module()(x)[1:] == module(x)[1:]
    with pytest.raises(errors.ConstraintViolation):
        dynamo_lite.export(module, (x,), dynamic_shapes=({0: Dim("rows", min=2, max=99)},), strict=False)


@pytest.mark.parametrize("name", WITH_SIZES)
def test_a_text_that_is_not_read_takes_none(name: str) -> None:
    fails = WITH_SIZES[name]

    def catches(x: Tensor) -> Tensor:
        try:
            return fails(None, x)
        except RuntimeError as error:
            print(error)
            return x + 1

    shapes = ({0: Dim("rows", min=2, max=99)},)
    program = dynamo_lite.export(catches, (torch.randn(4, 3),), dynamic_shapes=shapes, strict=False).module()
    given = torch.randn(6, 3)
    assert torch.equal(program(given), catches(given))


def test_the_classes_have_their_names_again() -> None:
    from torch._subclasses import FakeTensor

    with pytest.raises(ValueError, match="'Tensor'"):
        dynamo_lite.export(_raises_again, (torch.ones(3),), strict=False)
    assert [kind.__name__ for kind in (FakeTensor, torch.SymInt, torch.SymFloat, torch.SymBool)] == [
        "FakeTensor", "SymInt", "SymFloat", "SymBool",
    ]  # fmt: skip


def _raises_again(x: Tensor) -> Tensor:
    try:
        return x + "a"  # type: ignore[operator]
    except TypeError as error:
        raise ValueError(str(error)) from error
