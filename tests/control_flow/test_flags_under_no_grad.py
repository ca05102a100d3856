"""`requires_grad` of what a branch or a loop gives under no_grad: an argument or a parameter, in eager, on one side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import DataDependent, InputMismatch


def counted(x: Tensor) -> Tensor:
    while x.sum() < 0:
        x = x + 1
    return x


def unrolled(x: Tensor) -> Tensor:
    for _ in range(3):
        if x.sum() < 0:
            x = x + 1
    return x


HANDS_ON: dict[str, Callable[[Tensor], Tensor]] = {
    "itself": lambda x: x if x.sum() > 0 else x + 1,
    "other side": lambda x: x.sin() if x.sum() > 0 else x,
    "view": lambda x: x.view(-1) if x.sum() > 0 else x + 1,
    "both": lambda x: x if x.sum() > 0 else x.view(2),
    "while": counted,
    "for": unrolled,
}


class Asks(nn.Module):
    def __init__(self, give: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.give = give

    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if self.give(x).requires_grad else x * 3


class OfParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        made = self.weight if x.sum() > 0 else x + 1
        return x * 2 if made.requires_grad else x * 3


@pytest.mark.parametrize("name", HANDS_ON)
def test_the_question_is_refused_where_an_argument_requires_grad(name: str) -> None:
    with torch.no_grad(), pytest.raises(DataDependent, match="requires grad is asked for"):
        dynamo_lite.export(Asks(HANDS_ON[name]), (torch.ones(2, requires_grad=True),))


def test_the_question_is_refused_of_a_parameter() -> None:
    with torch.no_grad(), pytest.raises(DataDependent, match="requires grad is asked for"):
        dynamo_lite.export(OfParameter(), (torch.ones(2),))


@pytest.mark.parametrize("name", HANDS_ON)
def test_the_answer_holds_for_arguments_like_the_examples(name: str) -> None:
    module: Any = Asks(HANDS_ON[name])
    with torch.no_grad():
        program = dynamo_lite.export(module, (torch.ones(2),)).module()
        for x in (torch.ones(2), -torch.ones(2)):
            torch.testing.assert_close(program(x), module(x))
        with pytest.raises((InputMismatch, AssertionError), match="requires_grad"):
            program(torch.ones(2, requires_grad=True))
