"""Branches on several truth values of the data that Python holds (`item()`, `tolist()`), one within the other."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import dynamo_lite


def either(x: Tensor) -> Tensor:
    return x if any((x >= 5).tolist()) else x * 2


def every(x: Tensor) -> Tensor:
    return x if all((x >= 5).tolist()) else x * 2


def one_after_another(x: Tensor) -> Tensor:
    large, small = (x.max() >= 5).item(), (x.min() < -5).item()
    if large:
        return x - 1
    elif small:
        return x + 1
    return x * 2


def the_first(x: Tensor) -> Tensor:
    for is_large, row in zip((x >= 5).tolist(), x):
        if is_large:
            return x - row
    return x


def numbers_too(x: Tensor) -> Tensor:
    large = (x >= 5).tolist()
    return x + large[1] if large[0] else x * large[2]


PROGRAMS = [either, every, one_after_another, the_first, numbers_too]
INPUTS = [[0.0, 0, 0], [0.0, 9, 0], [7.0, 7, 7], [-9.0, 0, 5], [6.0, 0, -7]]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_equals_eager(program: Callable[[Tensor], Tensor]) -> None:
    exported = dynamo_lite.export(program, (torch.zeros(3),))
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    for made in (exported, torch.export.load(file), exported.run_decompositions()):
        for values in INPUTS:
            x = torch.tensor(values)
            torch.testing.assert_close(made.module()(x), program(x))


def checked(x: Tensor) -> Tensor:
    if any((x >= 5).view(-1).tolist()):
        raise ValueError("too large")
    return x * 2


def test_a_check_of_all_values() -> None:
    program = dynamo_lite.export(checked, (torch.zeros(3),)).module()
    assert torch.equal(program(torch.ones(3)), checked(torch.ones(3)))
    with pytest.raises(RuntimeError):
        program(torch.tensor([0.0, 9.0, 0.0]))
