"""What Python says of a tensor that it cannot use: the error of an export is worded as eager's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite

PROGRAMS: dict[str, Callable[[torch.Tensor], Any]] = {
    "attribute": lambda x: x.no_such_attribute,  # type: ignore[attr-defined]
    "call": lambda x: x(),  # type: ignore[operator]
    "operator": lambda x: x + "a",  # type: ignore[operator]
    "reflected": lambda x: "a" + x,  # type: ignore[operator]
    "comparison": lambda x: x < "a",  # type: ignore[operator]
    "function": lambda x: round(x),  # type: ignore[call-overload]
    "mapping": lambda x: {**x},  # type: ignore[dict-item]
    "iterator": lambda x: next(x),  # type: ignore[call-overload]
    "join": lambda x: ",".join([x]),  # type: ignore[list-item]
    "library": lambda x: json.dumps(x),
}


def said(call: Callable[[], Any]) -> tuple[type, str]:
    with pytest.raises((TypeError, AttributeError)) as caught:
        call()
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("name", PROGRAMS)
def test_words_are_eagers(name: str) -> None:
    program = PROGRAMS[name]
    want = said(lambda: program(torch.ones(3)))
    assert "Tensor" in want[1]
    assert said(lambda: dynamo_lite.export(program, (torch.ones(3),))) == want


def test_a_parameter_is_called_one() -> None:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.w.no_such_attribute

    assert said(lambda: dynamo_lite.export(M(), (torch.ones(3),))) == said(lambda: M()(torch.ones(3)))


def test_the_programs_own_words_stay() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        raise TypeError("a FakeTensor is no weight")

    assert said(lambda: dynamo_lite.export(f, (torch.ones(3),))) == (TypeError, "a FakeTensor is no weight")
