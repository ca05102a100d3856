"""Questions about a size of an input and one that data decides, which a bound on the input answers (strict=False).

torch.export answers them without a guard, as it takes each dynamic size to be 2 at least. Oracle: eager, at sizes
above the bound; below it the program must raise or agree.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite


class Program(nn.Module):
    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor, kept: torch.Tensor) -> object:
        return self.function(x, kept)


def empty(x: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """Whether x.shape[0] + u0 == 0: settled by x.shape[0] >= 1."""
    both = torch.cat([x, kept[kept > 2]])
    if both.numel() == 0:
        return both + 5
    return both * 2


def single(x: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """Whether x.shape[0] + u0 < 2: settled by x.shape[0] >= 2."""
    both = torch.cat([x, kept[kept > 2]])
    return both * 2 if both.shape[0] < 2 else both - 1


def columns(x: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """Whether u0 * x.shape[0] * 3 + x.shape[0] == 0."""
    rows = kept[kept > 2]
    both = torch.cat([(rows[:, None] * x).flatten(), x])
    if not both.shape[0]:
        return both + 5
    return both * 2


def open_question(x: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """Whether x.shape[0] > u0: no bound on x answers."""
    return x * 2 if x.shape[0] > kept[kept > 2].shape[0] else x


def arguments(size: int, first: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.arange(float(size)), torch.arange(first, first + 4.0)


def exported(function: Callable[..., object], size: int = 5) -> Callable[..., torch.Tensor]:
    shapes = ({0: Dim.AUTO}, None)
    program = dynamo_lite.export(Program(function), arguments(size, 1), dynamic_shapes=shapes, strict=False)
    return program.module()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("function", "least"), [(empty, 1), (single, 2), (columns, 1)])
def test_a_bound_on_the_input_answers(function: Callable[..., object], least: int) -> None:
    module = exported(function)
    for size in (*range(least, 5), 40):
        for first in (-9, 0, 1, 7):  # none, some and all of `kept` are left
            args = arguments(size, first)
            torch.testing.assert_close(module(*args), function(*args))
    for size in range(least):
        with pytest.raises(AssertionError, match="to be at least"):
            module(*arguments(size, -9))


@pytest.mark.parametrize(("function", "size"), [(empty, 0), (single, 1), (open_question, 5)])
def test_no_bound_answers(function: Callable[..., object], size: int) -> None:
    """The example itself is below the bound, or there is none."""
    with pytest.raises(dynamo_lite.DataDependent):
        exported(function, size)
