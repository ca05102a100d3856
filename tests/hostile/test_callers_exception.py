"""Exceptions of the caller and of the program: the program does not see the exception that the caller is handling, and
the exception that the program raises reaches the caller unchanged."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite


class Module(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * (2 if sys.exc_info()[0] is None else 3)
        try:
            int("a")
        except ValueError as error:
            return y + (10 if error.__context__ is None else 20)


def test_a_program_does_not_see_it() -> None:
    try:
        raise OSError("of the caller")
    except OSError:
        program = dynamo_lite.export(Module(), (torch.ones(3),)).module()
    torch.testing.assert_close(program(torch.ones(3)), Module()(torch.ones(3)))


class Owner:
    pass


class Failure(Exception):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.tried: list[int] = []
        self.tried.append(size)
        self.owner = Owner()

    def __str__(self) -> str:
        return f"no layer for {self.size}, tried {self.tried}"


class Raising(nn.Module):
    calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        error = Failure(x.shape[0])
        error.owner.names = {"x"}  # type: ignore[attr-defined]
        error.owner.module = self  # type: ignore[attr-defined]
        raise error from KeyError("layers")


@pytest.mark.parametrize("options", [{}, {"strict": False}, {"control_flow": "refuse"}], ids=str)
def test_what_the_program_raises_keeps_its_attributes(options: Any) -> None:
    module = Raising()
    with pytest.raises(Failure, match=r"^no layer for 3, tried \[3\]$") as raised:
        dynamo_lite.export(module, (torch.ones(3),), **options)
    owner: Any = raised.value.owner
    assert owner.names == {"x"} and owner.module is module and repr(raised.value.__cause__) == "KeyError('layers')"
    assert module.calls == 0, "the module is as before"
