"""Each condition on sizes says why it is there: the program's line, the operator, the spec, what it was made of."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite
from dynamo_lite.logging import set_logs
from dynamo_lite.traces import Trace


def program(x: Any, y: Any, z: Any) -> Any:
    if x.shape[0] > 3:  # branch
        x = x + 1
    torch._check(y.shape[0] <= 100)  # check
    added = x + y  # operator
    ratio = y.shape[0] // x.shape[1]  # division
    return added.reshape(2, -1), ratio, z * 2  # reshape


SOURCE, FIRST = inspect.getsourcelines(program)
LINES = {row.rsplit("# ", 1)[1].strip(): FIRST + i for i, row in enumerate(SOURCE) if "# " in row}
AUTO = {0: Dim.AUTO(min=2), 1: Dim.AUTO}  # a size of 1 would have the branch captured


@pytest.fixture(scope="module")
def traced() -> Trace:
    b = Dim("b", max=64)
    sizes = (torch.randn(8, 4), torch.randn(8, 4), torch.randn(5, 5))
    return dynamo_lite.trace(program, sizes, dynamic_shapes={"x": AUTO, "y": AUTO, "z": {0: b, 1: b}})


def at(name: str) -> str:
    return f"{__file__}:{LINES[name]} "


REASONS = {
    "L['y'].size()[0] == L['x'].size()[0]": ["(equality)", "operator " + at("operator"), "in aten.add.Tensor"],
    "4 <= L['x'].size()[0] <= 100": ["user line " + at("branch"), "torch._check " + at("check"), "took the path",
                                     "x.shape[0] <= 100: with the equal sizes put in", "the program asserts it"],
    "L['x'].size()[1] >= 1": ["division " + at("division"), "zero would raise", "derived from x.shape[1] != 0"],
    "(L['x'].size()[0]*L['x'].size()[1]) % 2 == 0": ["(divisibility)", at("reshape"), "in aten.reshape.default"],
    "L['z'].size()[0] <= 64": ["declared with: Dim spec", "Dim('b', max=64)"],
    "L['z'].size()[1] == L['z'].size()[0]": ["by the specs of the dimensions"],
}


def index_of(trace: Trace, text: str) -> int:
    return [guard.text for guard in trace.guards].index(text)


@pytest.mark.parametrize("text", REASONS)
def test_a_condition_names_its_reasons(traced: Trace, text: str) -> None:
    explained = traced.guards.explain(index_of(traced, text))
    assert explained.startswith(text)
    for part in REASONS[text]:
        assert part in explained, explained


def test_all_conditions_on_sizes_have_one(traced: Trace) -> None:
    own = [guard for guard in traced.guards if guard.kind == "python" and ".size()" in guard.text]
    assert len(own) >= len(REASONS) and all(guard.line is not None for guard in own)


def test_a_call_that_is_not_admitted_hears_it(traced: Trace) -> None:
    failure = traced.guards.check(program, (torch.randn(2, 4), torch.randn(2, 4), torch.randn(5, 5)))
    assert failure is not None and "4 <= L['x'].size()[0] <= 100" in str(failure) and at("branch") in str(failure)


def test_the_tree_and_the_logs_show_the_lines(traced: Trace, caplog: pytest.LogCaptureFixture) -> None:
    row = next(row for row in traced.guards.tree().splitlines() if row.startswith("4 <= "))
    assert at("branch") in row and at("check") in row and at("operator") in row
    set_logs("guards")
    try:
        sizes = (torch.randn(8, 4), torch.randn(8, 4), torch.randn(5, 5))
        dynamo_lite.trace(program, sizes, dynamic_shapes={"x": AUTO, "y": AUTO, "z": None})
    finally:
        set_logs("")
    assert at("branch") in caplog.text


def test_a_second_export_knows_the_operators_too(traced: Trace) -> None:
    """What an operator asked is remembered between exports; where it is asked now is this program's line."""
    def other(x: Any, y: Any) -> Any:
        return x + y

    trace = dynamo_lite.trace(other, (torch.randn(8, 4), torch.randn(8, 4)), dynamic_shapes={"x": AUTO, "y": AUTO})
    again = dynamo_lite.trace(other, (torch.randn(8, 4), torch.randn(8, 4)), dynamic_shapes={"x": AUTO, "y": AUTO})
    for one in (trace, again):
        explained = one.guards.explain(index_of(one, "L['y'].size()[0] == L['x'].size()[0]"))
        assert f"{__file__}:{inspect.getsourcelines(other)[1] + 1} " in explained and "aten.add.Tensor" in explained
