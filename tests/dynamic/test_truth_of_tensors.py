"""bool(tensor) where sizes vary: the number of elements decides whether it is an error, which programs may catch."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

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
        dynamo_lite.export(guarded, (torch.ones(1),), dynamic_shapes=({0: Dim.AUTO},), control_flow="refuse")


TRUTHS: dict[str, Callable[[torch.Tensor], Any]] = {
    "of a tensor": lambda x: bool(x.any()),
    "of one element": lambda x: bool(x[:1]),
    "of a float": lambda x: bool(x.sum().item()),
    "of a comparison": lambda x: bool(x.sum().item() > 0),
    "of an int": lambda x: bool((x > 0).sum().item()),
    "as a factor": lambda x: x * bool(x.any()) + int(bool(x.all())),
    "is_nonzero": lambda x: (torch.is_nonzero(x.any()), x.sum().is_nonzero()),
    "of a constant": lambda x: x + 1 if bool(torch.ones(2).any()) else x,
}


@pytest.mark.parametrize("control_flow", ["refuse", "capture"])
@pytest.mark.parametrize("name", TRUTHS)
def test_the_truth_of_data_is_a_value(name: str, control_flow: str) -> None:
    """bool() needs no branch; only what branches on its result is refused."""
    run = dynamo_lite.export(TRUTHS[name], (torch.ones(3),), control_flow=control_flow).module()
    for data in ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, -2.0, 5.0], [float("nan"), 0.0, 0.0]):
        x = torch.tensor(data)
        torch.testing.assert_close(run(x), TRUTHS[name](x), equal_nan=True)


@pytest.mark.parametrize("forward", [lambda x: x + 1 if bool(x.any()) else x, lambda x: [x, x + 1][bool(x.any())]])
def test_what_decides_by_it_is_refused(forward: Any) -> None:
    with pytest.raises(DataDependent):
        dynamo_lite.export(forward, (torch.ones(3),), control_flow="refuse")


def test_an_assertion_on_it_is_made_at_run_time() -> None:
    run = dynamo_lite.export(_asserts, (torch.ones(3),)).module()
    assert torch.equal(run(torch.ones(3)), torch.ones(3) * 2)
    with pytest.raises(RuntimeError):
        run(torch.zeros(3))


def _asserts(x: torch.Tensor) -> torch.Tensor:
    if not bool(x.any()):
        raise RuntimeError("nothing")
    return x * 2


@pytest.mark.parametrize("sizes", [None, ({0: Dim.AUTO},)])
@pytest.mark.parametrize("convert", [int, float, bool, operator.index])
def test_the_number_of_several_elements_is_eagers_error(convert: Any, sizes: object) -> None:
    x = torch.ones(3, dtype=torch.int64)
    with pytest.raises((ValueError, TypeError, RuntimeError)) as eager:
        convert(x)
    with pytest.raises(type(eager.value), match=f"^{re.escape(str(eager.value))}$"):
        dynamo_lite.export(lambda x: x + convert(x), (x,), dynamic_shapes=sizes)
