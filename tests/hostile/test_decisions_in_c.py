"""C code that goes by the truth of tensors: the refusal names it, and says what to write instead."""

from __future__ import annotations

import bisect
import functools
import heapq
import itertools
import operator
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import DataDependent
from dynamo_lite.tracing.sizes.decisions_in_c import INSTEAD

Program = Callable[[torch.Tensor, torch.Tensor], Any]

PROGRAMS: dict[str, tuple[Program, str, str]] = {
    "max of a tensor and a number": (lambda t, x: max(t, 5), "max()", "torch.clamp"),
    "max of a number and a tensor": (lambda t, x: max(5, t), "max()", "torch.clamp"),
    "max of a size and a tensor": (lambda t, x: max(x.shape[0], t), "max()", "torch.maximum"),
    "min of tensors": (lambda t, x: min(t, t + 1), "min()", "torch.minimum"),
    "max of rows": (lambda t, x: max(x), "max()", "amax"),
    "min of unpacked rows": (lambda t, x: min(*x), "min()", "amin"),
    "max by a key": (lambda t, x: max(x, key=lambda v: v * v), "max()", "amax"),
    "max of a generator": (lambda t, x: max(v + 1 for v in x), "max()", "amax"),
    "reduce by max": (lambda t, x: functools.reduce(max, x), "max()", "torch.maximum"),
    "sorted": (lambda t, x: sorted(x), "sorted()", "torch.sort"),
    "sorted by a key": (lambda t, x: sorted(x, key=lambda v: -v, reverse=True), "sorted()", "torch.sort"),
    "list.sort": (lambda t, x: [*x].sort(), "list.sort()", "torch.sort"),
    "in a list": (lambda t, x: t in [1, 2], "`in`", "torch.isin"),
    "not in a tuple": (lambda t, x: t not in (1, 2), "`in`", "torch.isin"),
    "in a tensor": (lambda t, x: 1 in x, "`in`", "torch.isin"),
    "a tensor in a tensor": (lambda t, x: t in x, "`in`", "torch.isin"),
    "in a deque": (lambda t, x: t in deque([1, 2]), "`in`", "torch.isin"),
    "operator.contains": (lambda t, x: operator.contains([1, 2], t), "`in`", "torch.isin"),
    "any": (lambda t, x: any(x > 0), "any()", "torch.any"),
    "any of a generator": (lambda t, x: any(v > 0 for v in x), "any()", "torch.any"),
    "all": (lambda t, x: all(v > 0 for v in x), "all()", "torch.all"),
    "list.index": (lambda t, x: [2, 1].index(t), "list.index()", "torch.argmax"),
    "tuple.count": (lambda t, x: (2, 1).count(t), "tuple.count()", ".sum()"),
    "deque.count": (lambda t, x: deque([2, 1]).count(t), "deque.count()", ".sum()"),
    "list.remove": (lambda t, x: [2, 1].remove(t), "list.remove()", "by position"),
    "operator.indexOf": (lambda t, x: operator.indexOf([2, 1], t), "operator.indexOf()", "torch.argmax"),
    "equal dicts": (lambda t, x: {0: t} == {0: 1}, "`==` of containers", "torch.eq"),
    "tuples in order": (lambda t, x: (t, 1) < (2, 1), "`<` of containers", "torch.eq"),
    "filter": (lambda t, x: [*filter(lambda v: v > 0, x)], "filter()", "torch.where"),
    "filter of truth": (lambda t, x: [*filter(None, x > 0)], "filter()", "torch.where"),
    "filterfalse": (lambda t, x: list(itertools.filterfalse(None, x > 0)), "itertools.filterfalse()", "torch.where"),
    "takewhile": (
        lambda t, x: list(itertools.takewhile(lambda v: v > 0, x)),
        "itertools.takewhile()",
        "cumprod",
    ),
    "compress": (lambda t, x: [*itertools.compress(x, x > 0)], "itertools.compress()", "x[mask]"),
    "groupby": (lambda t, x: [*itertools.groupby(x)], "itertools.groupby()", "unique_consecutive"),
    "bisect": (lambda t, x: bisect.bisect([1.0, 2.0], t), "bisect.bisect_right()", "torch.searchsorted"),
    "heapify": (lambda t, x: heapq.heapify([*x]), "heapq.heapify()", "torch.topk"),
}


class Calls(nn.Module):
    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program

    def forward(self, t: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        found = self.program(t, x)
        return x + 1 if found is True else x


def _example() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(1.0), torch.tensor([1.0, -2.0, 3.0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_refusal_names_what_decides(name: str) -> None:
    program, who, instead = PROGRAMS[name]
    with pytest.raises(DataDependent) as refusal:
        dynamo_lite.export(Calls(program), _example(), control_flow="refuse")
    text = str(refusal.value)
    first = text.splitlines()[0]
    assert first == f"[data-dependent-branch] {who} decides by the data of a tensor, which is not known during export."
    assert instead in text.partition("What to write instead:")[2]


def test_the_programs_own_branch_is_not_called_a_builtins() -> None:
    """A key function that branches: the branch is the program's."""

    def key(value: torch.Tensor) -> int:
        return 1 if value > 0 else 0

    with pytest.raises(DataDependent, match="A branch depends on the data"):
        dynamo_lite.export(Calls(lambda t, x: max(x, key=key)), _example(), control_flow="refuse")


def test_a_question_that_a_check_settles_says_so_and_what_else_to_write() -> None:
    def f(k: torch.Tensor) -> torch.Tensor:
        i, j = k.tolist()
        return torch.ones(3) * sorted([i, j])[0]

    with pytest.raises(DataDependent) as refusal:
        dynamo_lite.export(f, (torch.tensor([1, 2]),), control_flow="refuse")
    assert "torch._check(" in str(refusal.value) and "torch.sort" in str(refusal.value)


def test_each_row_is_of_a_callable_with_its_words() -> None:
    for fn, row in INSTEAD.items():
        assert callable(fn) and row.instead.endswith(".") and row.name


CAPTURED: dict[str, Program] = {
    "max of tensors": lambda t, x: max(t, t * 2, -t),
    "max of rows": lambda t, x: max(x),
    "min of unpacked rows": lambda t, x: min(*x),
    "max by a key": lambda t, x: max(x, key=lambda v: v * v),
    "min by a key of a list": lambda t, x: min([t, x[0], x[1]], key=torch.abs),
    "reduce by max": lambda t, x: functools.reduce(max, x),
    "max of a key that branches": lambda t, x: max(x, key=lambda v: v if v > 0 else -v * 3),
    "max with a default": lambda t, x: max([*x], default=t),
    "any and all": lambda t, x: x + (2 if any(x > 2) else 1) * (3 if all(v > 0 for v in x) else 1),
}


@pytest.mark.parametrize("name", CAPTURED)
def test_captured_control_flow_records_them(name: str) -> None:
    f = CAPTURED[name]
    program = dynamo_lite.export(f, _example(), control_flow="capture").module()
    nan = float("nan")
    for values in ([1.0, -2.0, 3.0], [5.0, 5.0, 5.0], [-1.0, -7.0, -2.0], [nan, 1.0, 2.0], [2.0, nan, 3.0]):
        for one in (1.0, -4.0, nan):
            args = torch.tensor(one), torch.tensor(values)
            torch.testing.assert_close(program(*args), f(*args), equal_nan=True)


def test_captured_control_flow_says_which_values_differ() -> None:
    with pytest.raises(DataDependent, match=r"branch-differs.*result_of_max"):
        dynamo_lite.export(lambda t, x: max(t, 5), _example(), control_flow="capture")


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (lambda x: max(x[0], 5), "max()"),
        (lambda x: min(x[0], x[1]), "min()"),
        (lambda x: sorted([x[0], x[1]]), "sorted()"),
        (lambda x: any(x > 0), "any()"),
        (lambda x: x * (x[0] in [1, 2]), "`in`"),
    ],
)
def test_the_refusal_names_it_where_python_runs_the_program(program: Callable[..., Any], name: str) -> None:
    with pytest.raises(DataDependent, match="decides by the data of a tensor") as caught:
        dynamo_lite.export(program, (torch.randn(3),), strict=False)
    assert f"{name} decides" in str(caught.value)


def test_a_branch_of_the_programs_own_is_a_branch() -> None:
    with pytest.raises(DataDependent, match="A branch depends on the data"):
        dynamo_lite.export(lambda x: x if x.sum() > 0 else -x, (torch.randn(3),), strict=False)
