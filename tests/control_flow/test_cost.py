"""What branches and loops on data cost: runs of sides, compiled sub-graphs, what is listed of the heap."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, fx

import dynamo_lite
from dynamo_lite.capture.fakes import cond_outputs
from dynamo_lite.control_flow import emission
from dynamo_lite.control_flow.path_counter import MOST, PathCounter
from dynamo_lite.control_flow.undoing import new_objects
from dynamo_lite.control_flow.undoing.new_objects import Points


class Of(torch.nn.Module):
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *args: Any) -> Any:
        return self.fn(*args)


def _exported(fn: Callable[..., Any], *args: Any) -> torch.export.ExportedProgram:
    return dynamo_lite.export(Of(fn), args, control_flow="capture")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One item for each time that two sides are run."""
    counted: list[int] = []
    count = PathCounter.count

    def counting(self: PathCounter, tracer: Any) -> None:
        counted.append(1)
        count(self, tracer)

    monkeypatch.setattr(PathCounter, "count", counting)
    return counted


# -- ways that multiply


def one_of_two_functions(x: Tensor, rounds: int) -> Tensor:
    fn: Any = torch.sin
    for i in range(rounds):
        if x[i] > 0:
            fn = torch.cos  # no operator gives a function: the choice is carried on
        else:
            fn = torch.sin
    return fn(x)


def names_of_both(x: Tensor, at: int, rounds: int, names: tuple[str, ...] = ()) -> Tensor:
    if at == rounds:
        return x * len(set(names))
    if x[at] > 0:
        return names_of_both(x, at + 1, rounds, (*names, "same"))
    return names_of_both(x, at + 1, rounds, (*names, f"of {at}"))


def left_by_each_round(x: Tensor, names: tuple[str, ...]) -> Any:
    for i, name in enumerate(names):
        if x[i] > 0:
            return {name: x * i}["left"]
    return x


@pytest.mark.parametrize(
    "program",
    [lambda x: one_of_two_functions(x, 20), lambda x: names_of_both(x, 0, 20)],
    ids=["a choice in a loop", "recursion"],
)
def test_branches_that_multiply_are_refused_after_a_few(runs: list[int], program: Callable[..., Any]) -> None:
    reason = f"paths multiply, and {MOST} runs of sides are allowed: the branch is nested in"
    with pytest.raises(dynamo_lite.GraphBreak, match=reason):
        _exported(program, torch.arange(20.0) - 12)
    assert len(runs) < 100


@pytest.mark.parametrize("rounds", [3, 6])
def test_branches_that_multiply_are_taken_while_they_are_few(rounds: int) -> None:
    def program(x: Tensor) -> Tensor:
        return names_of_both(x, 0, rounds)

    call = torch.arange(float(rounds)) - 1
    ep = _exported(program, call)
    for x in (call, -call, torch.ones(rounds), -torch.ones(rounds)):
        assert torch.equal(ep.module()(x), program(x))


def test_ways_that_do_not_multiply_are_taken(runs: list[int]) -> None:
    def program(x: Tensor) -> Any:
        return left_by_each_round(x, ("left",) * 20)

    call = torch.arange(20.0) - 12
    ep = _exported(program, call)
    for x in (call, -torch.ones(20), torch.ones(20)):
        assert torch.equal(ep.module()(x), program(x))
    assert len(runs) <= 2 * 20


# -- branches in one another


def nested(x: Tensor, depth: int) -> Tensor:
    if x.sum() > depth:
        return nested(x + 1, depth - 1) * 2 if depth else x.cos()
    return x - depth


def test_branches_in_one_another_are_compiled_once_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """fx compiles what lies in a module when it makes the module; torch's rule for cond runs what lies in its sides."""
    compiled: list[int] = []
    recompile = fx.GraphModule.recompile

    def counting(self: fx.GraphModule) -> Any:
        compiled.append(1)
        return recompile(self)

    monkeypatch.setattr(fx.GraphModule, "recompile", counting)
    monkeypatch.setattr(fx.GraphModule, "__call__", _not_called, raising=False)
    counts = {}
    for depth in (4, 8, 16):
        compiled.clear()
        _exported(lambda x, depth=depth: nested(x, depth), torch.arange(6.0))
        counts[depth] = len(compiled)
    assert counts[16] - counts[8] == 2 * (counts[8] - counts[4])


def _not_called(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise AssertionError("a sub-graph is run")


def test_results_of_a_cond_are_those_of_torchs_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: Tensor) -> Any:
        if x.sum() > 0:
            return x.t(), x[:1], x.sum(0), x.to(torch.int32), 3
        return x.t() * 2, x[:2] + 1, x.sum(1), x.to(torch.int32) + 1, 4

    def outputs() -> list[Any]:
        torch._dynamo.reset()
        ep = _exported(program, torch.arange(9.0).view(3, 3))
        (cond,) = [node for node in ep.graph.nodes if node.target is torch.ops.higher_order.cond]
        return [
            (tuple(map(_shown, val.shape)), tuple(map(_shown, val.stride())), val.dtype, val.device)
            if isinstance(val, Tensor)
            else _shown(val)
            for val in cond.meta["val"]
        ]

    known: list[Any] = []

    def noted(*args: Any) -> Any:
        known.append(cond_outputs.known_outputs(*args))
        return known[-1]

    monkeypatch.setattr(emission, "known_outputs", noted)
    ours = outputs()
    assert known and None not in known  # torch's rule was not asked
    monkeypatch.setattr(emission, "known_outputs", lambda *args: None)
    assert ours == outputs()


def _shown(size: Any) -> Any:
    """A symbol that run time knows has another number in each export."""
    return size if isinstance(size, int) else type(size).__name__


# -- objects that are younger than a point


class Thing:
    def __init__(self, *held: Any) -> None:
        self.held = [*held, self]  # garbage that only the collector frees


@pytest.mark.parametrize("most_new", [0, 50, 1 << 30])
def test_younger_objects_are_told_across_collections(monkeypatch: pytest.MonkeyPatch, most_new: int) -> None:
    monkeypatch.setattr(new_objects, "_MOST_NEW", most_new)
    points = Points()
    gc.collect()
    gc.freeze()  # the collector lists what is made from here on
    gc.disable()
    try:
        _fill(points, [], 3)
    finally:
        gc.enable()
        gc.unfreeze()
    assert (points.collections > 0) is (most_new < 1 << 30)


def _fill(points: Points, older: list[Thing], depth: int) -> list[Thing]:
    """Objects are made before, within and behind further points; what is older and younger is asked at each."""
    with points.here() as point:
        made: list[Thing] = []
        for _ in range(3):
            made += [Thing(*made[-2:]) for _ in range(20)]
            del made[::7]
            if depth:
                made += _fill(points, [*older, *made], depth - 1)
            points.collect_if_due()
            younger = {id(obj) for obj in point.younger() if type(obj) is Thing}
            assert {id(thing) for thing in made} <= younger
            assert not younger & {id(thing) for thing in older}
            assert not any(map(point.is_older, made))
            assert all(map(point.is_older, older))
        return made[::2]
