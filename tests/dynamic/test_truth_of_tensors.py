"""bool(tensor) where sizes vary: the number of elements decides whether it is an error, which programs may catch."""

from __future__ import annotations

import pytest
import torch
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import DataDependent, InputMismatch


def guarded(x: torch.Tensor) -> torch.Tensor:
    try:
        return x + 1 if x else x + 2
    except RuntimeError as error:
        return x - 1 if "more than one" in str(error) else x - 2


@pytest.mark.parametrize("size", [0, 4])
def test_the_caught_error_is_a_fact_about_the_size(size: int) -> None:
    program = dynamo_lite.export(guarded, (torch.ones(size),), dynamic_shapes=({0: Dim.AUTO},)).module()
    accepted = 0
    for given in map(torch.ones, range(6)):
        try:
            answer = program(given)
        except InputMismatch:
            continue
        accepted += 1
        assert torch.equal(answer, guarded(given))
    assert accepted >= (4 if size else 1)


@pytest.mark.parametrize("sizes", [None, ({0: Dim.DYNAMIC},)])
def test_the_error_says_what_eager_says(sizes: object) -> None:
    with pytest.raises(RuntimeError, match=r"^Boolean value of Tensor with more than one value is ambiguous$"):
        dynamo_lite.export(lambda x: x + 1 if x else x, (torch.ones(4),), dynamic_shapes=sizes)


def test_one_element_is_the_datas() -> None:
    with pytest.raises(DataDependent):
        dynamo_lite.export(guarded, (torch.ones(1),), dynamic_shapes=({0: Dim.AUTO},))
