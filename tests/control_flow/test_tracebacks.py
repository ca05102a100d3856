"""Where branches are captured, a traceback that the program looks at has eager's entries."""

from __future__ import annotations

import traceback
from typing import Any

import torch
from torch import Tensor, nn

import dynamo_lite


def entries(error: BaseException) -> list[str]:
    return [entry.name for entry in traceback.extract_tb(error.__traceback__)]


class Raises(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise ValueError


class Looks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Raises()

    def forward(self, x: Tensor) -> Any:
        found = []
        try:
            self.inner(x)
        except ValueError as error:
            found.append(entries(error))
        try:
            any(1 // i for i in range(2))
        except ZeroDivisionError as error:
            found.append(entries(error))
        try:
            all(5)  # type: ignore[arg-type]
        except TypeError as error:
            found.append(entries(error))
        try:
            max([x, None], key=lambda value: value.sum())  # type: ignore[union-attr]
        except AttributeError as error:
            found.append(entries(error))
        return x * sum(map(len, found)), found


def test_entries_are_those_of_eager() -> None:
    x = torch.ones(2)
    expected = Looks()(x)
    assert [len(names) for names in expected[1]] == [4, 2, 1, 2]
    result = dynamo_lite.export(Looks(), (x,), control_flow="capture").module()(x)
    assert result[1] == expected[1]
    assert torch.equal(result[0], expected[0])
