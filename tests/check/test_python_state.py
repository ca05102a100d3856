"""dynamo_lite.check looks at Python state: what an eager call changes and the program's trace does not account for."""

from __future__ import annotations

import collections
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.checking import Report
from dynamo_lite.interpreter.code import decode
from dynamo_lite.nonstrict.reachability import Reachable
from dynamo_lite.tracing.heap.journal import Journal

X = torch.arange(6.0).reshape(2, 3)
COUNT = 0
TABLE: dict[str, Any] = {"n": 1}
LOOSE = torch.zeros(3)


class Box:
    kind = 1

    def __init__(self) -> None:
        self.n = 1


class Slotted:
    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 1


class Writes(nn.Module):
    """`forward` does `body` first; the result does not depend on it."""

    def __init__(self, body: Any = None) -> None:
        super().__init__()
        self.body = body
        self.register_buffer("mean", torch.zeros(3))
        self.loose = [torch.zeros(3)]
        self.sub = nn.Identity()
        self.count, self.box, self.slotted, self.table = 0, Box(), Slotted(), {"k": [1]}
        self.queue, self.names, self.numbers = collections.deque([1]), {"a"}, iter(range(9))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.body is not None:
            self.body(self, x)
        return x * 2


def _global(self: Any, x: torch.Tensor) -> None:
    global COUNT
    COUNT += 1


def _variable() -> Any:
    n = 0

    def body(self: Any, x: torch.Tensor) -> None:
        nonlocal n
        n += 1

    return body


LOST: dict[str, tuple[Any, str]] = {
    "attribute": (lambda s, x: setattr(s, "count", s.count + 1), "self.count changes from 0 to 1"),
    "new attribute": (lambda s, x: setattr(s, "fresh", 1), "self.fresh changes from nothing to 1"),
    "deleted": (lambda s, x: vars(s).pop("count", None), "self.count changes from 0 to nothing"),
    "object": (lambda s, x: setattr(s.box, "n", s.box.n + 1), "self.box.n changes from 1 to 2"),
    "slot": (lambda s, x: setattr(s.slotted, "n", 5), "self.slotted.n changes from 1 to 5"),
    "list": (lambda s, x: s.table["k"].append(2), "self.table['k'] changes from [1] to [1, 2]"),
    "entry": (lambda s, x: s.table.update(j=2), "self.table['j'] changes from nothing to 2"),
    "deque": (lambda s, x: s.queue.append(2), "self.queue changes from [1] to [1, 2]"),
    "set": (lambda s, x: s.names.add("b"), "self.names"),
    "global": (_global, "the global COUNT changes from 0 to 1"),
    "global's item": (lambda s, x: TABLE.update(n=2), "TABLE['n'] changes from 1 to 2"),
    "class": (lambda s, x: setattr(Box, "kind", 2), "Box.kind changes from 1 to 2"),
    "variable": (_variable(), "a variable of an enclosing function changes from 0 to 1"),
    "submodule": (lambda s, x: s.sub.train(False), "self.sub.training changes from True to False"),
    "iterator": (lambda s, x: next(s.numbers), "self.numbers changes from where it was"),
    "a tensor in a list": (lambda s, x: s.loose[0].add_(1), "self.loose[0] is changed in place"),
    "a global tensor": (lambda s, x: LOOSE.add_(1), "LOOSE is changed in place"),
    "a new buffer": (lambda s, x: s.register_buffer("b", torch.ones(1)), "self.b changes from nothing"),
    "a setting": (lambda s, x: torch.set_grad_enabled(False), "grad mode changes from True to False"),
}


def _check(body: Any) -> Report:
    """The program of a module that changes nothing, against one that does."""
    return dynamo_lite.check(dynamo_lite.export(Writes(), (X,)), Writes(body), (X,), fresh_data=0)


@pytest.mark.parametrize(("body", "text"), LOST.values(), ids=LOST)
def test_a_change_that_the_trace_does_not_know_is_a_difference(body: Any, text: str) -> None:
    report = _check(body)
    assert report.difference is not None and report.difference.where == "the example, call 1"
    assert text in report.difference.what and "the program does not change it" in report.difference.what


def test_what_eager_changes_outside_of_the_copies_is_put_back() -> None:
    for name in ("global", "global's item", "class", "variable", "a global tensor", "a setting"):
        assert not _check(LOST[name][0])
    assert COUNT == 0 and TABLE == {"n": 1} and Box.kind == 1 and torch.equal(LOOSE, torch.zeros(3))
    assert torch.is_grad_enabled()
    cell = LOST["variable"][0].__closure__[0]
    assert cell.cell_contents == 0


@pytest.mark.parametrize(
    "body",
    [
        lambda s, x: setattr(s, "count", int("0")),
        lambda s, x: setattr(s, "table", {"k": [1]}),
        lambda s, x: s.table["k"].__setitem__(0, 1),
        lambda s, x: setattr(s, "box", Box()),
        lambda s, x: s.mean.add_(0),
        lambda s, x: setattr(s, "mean", s.mean + 0),
        lambda s, x: s.sub.train(True),
    ],
)
def test_a_change_to_an_equal_value_is_none(body: Any) -> None:
    report = _check(body)
    assert report, report


@pytest.mark.parametrize("name", ["attribute", "object", "list", "entry", "global", "class", "variable", "a setting"])
def test_what_the_trace_says_is_dropped_is_noted_and_no_difference(name: str) -> None:
    module = Writes(LOST[name][0])
    program = dynamo_lite.export(module, (X,), effects="drop")
    report = dynamo_lite.check(program, module, (X,), fresh_data=0)
    assert report, report
    noted = report.replays[0].noted
    assert any(LOST[name][1] in text and how == "dropped" for text, how in noted.items()), noted
    assert f"{LOST[name][1]} (dropped)" in str(report)


def _twice(self: Any, x: torch.Tensor) -> None:
    self.count += 1


def _once(self: Any, x: torch.Tensor) -> None:
    if "count" in vars(self) and self.count == 0:
        self.count = 1


def test_what_is_said_to_happen_on_the_first_call_only_must_not_happen_again() -> None:
    program = dynamo_lite.export(Writes(_once), (X,))
    report = dynamo_lite.check(program, Writes(_once), (X,))
    assert report and "first call only" in str(report)
    difference = dynamo_lite.check(program, Writes(_twice), (X,)).difference
    assert difference is not None and difference.where == "the example, call 2"
    assert "self.count changes from 1 to 2" in difference.what


def test_a_program_without_a_trace_may_set_something_on_the_first_call() -> None:
    program = torch.export.export(Writes(), (X,))
    assert dynamo_lite.check(program, Writes(_once), (X,))
    difference = dynamo_lite.check(program, Writes(_twice), (X,)).difference
    assert difference is not None and "self.count changes from 1 to 2" in difference.what


def test_arguments_that_are_changed_are_compared_as_arguments() -> None:
    def appends(xs: list[torch.Tensor]) -> torch.Tensor:
        xs.append(xs[0] + 1)
        return xs[0] * 2

    program = dynamo_lite.export(lambda xs: xs[0] * 2, ([X],))
    difference = dynamo_lite.check(program, appends, ([X],)).difference
    assert difference is not None and "the argument xs after the call" in difference.what
    dropped = dynamo_lite.export(appends, ([X],), effects="drop")
    assert dynamo_lite.check(dropped, appends, ([X],))


def test_an_argument_that_is_changed_and_returned_is_noted() -> None:
    def appends(xs: list[torch.Tensor], y: torch.Tensor) -> list[torch.Tensor]:
        xs.append(xs[0] + y)
        return xs

    program = dynamo_lite.export(appends, ([X],), {"y": X})
    assert dynamo_lite.check(program, appends, ([X],), {"y": X})


def test_the_tracers_own_caches_are_no_state_of_the_program() -> None:
    """A guard that a global holds leads to the code objects that are decoded: one that dies is no effect."""
    program = dynamo_lite.export(nn.Linear(2, 2), (torch.ones(1, 2),))
    reach = Reachable(Journal(lambda: ()))
    reach.follows_globals = True
    for held in (program.trace, program.trace.guards, decode.info_of(nn.Linear.forward.__code__), Reachable):
        reach.take(held)
    assert not reach.holds(decode.infos)
    assert not reach.holds(vars(decode))
