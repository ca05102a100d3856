"""Guards tell each change of state that eager's answer shows, and hold while nothing changes.

The oracle is eager: a change in `told` gives another answer, one in `held` the same (tests/hostile/changes).
"""

from __future__ import annotations

import copy
import weakref
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import dynamo_lite
from tests.guards import ways

from .changes import Box, Change, Module, Row, all_rows

ROWS = all_rows()
HELD = [(name, text) for name, build in ROWS.items() for text in build().held]


def _answer(program: Any, args: tuple[Any, ...]) -> Any:
    try:
        return program(*copy.deepcopy(args))
    except Exception as error:
        return type(error)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, type) or isinstance(other, type):
        return one is other
    left, right = pytree.tree_leaves(one), pytree.tree_leaves(other)
    return len(left) == len(right) and all(map(_same_leaf, left, right))


def _same_leaf(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        facts = one.dtype, one.shape, one.requires_grad
        return facts == (other.dtype, other.shape, other.requires_grad) and torch.equal(
            one.nan_to_num(7.5), other.nan_to_num(7.5)
        )
    return bool(one == other)


def _traced(build: Row) -> tuple[Any, Any, Any]:
    made = build()
    trace = dynamo_lite.trace(made.program, made.args)
    first = ways.check(trace.guards, made.program, made.args)
    assert first is None, str(first)
    before = _answer(made.program, made.args)
    again = trace.guards.check(made.program, made.args)
    assert again is None or trace.effects, str(again)  # an attribute that the first call sets is an effect
    return made, trace, before


@pytest.mark.parametrize("name", ROWS)
def test_the_program_is_right_and_its_guards_tell_each_change(name: str) -> None:
    """While nothing changes they hold, before and after a call; after each change of `told` one fails."""
    made, trace, before = _traced(ROWS[name])
    assert _same(_answer(trace.program.module(), made.args), before)
    for number, text in enumerate(made.told):
        if number:
            made, trace, before = _traced(ROWS[name])
        undo = made.told[text]()
        try:
            after = _answer(made.program, made.args)
            index = ways.failing(trace.guards, made.program, made.args)
            failure = trace.guards.check(made.program, made.args)
        finally:
            _undo(undo)
        assert not _same(after, before), f"{text}: this change does not matter"
        assert failure is not None and index >= 0, text
        assert str(failure)


@pytest.mark.parametrize(("name", "text"), HELD)
def test_a_change_that_eager_does_not_show_fails_none(name: str, text: str) -> None:
    made, trace, before = _traced(ROWS[name])
    undo = made.held[text]()
    try:
        after = _answer(made.program, made.args)
        failure = ways.check(trace.guards, made.program, made.args)
    finally:
        _undo(undo)
    assert _same(after, before), "this change matters"
    assert failure is None, str(failure)


def test_a_read_through_a_weak_proxy_is_a_guard_that_never_holds() -> None:
    """Nothing but the proxied object's own code can say which object that is."""
    box = Box(n=2)
    program = Module(lambda held, x: x * held.proxy.n, proxy=weakref.proxy(box))
    trace = dynamo_lite.trace(program, (torch.ones(2),))
    assert "weakref.proxy" in str(trace.guards.check(program, (torch.ones(2),)))


def _undo(undo: Change | None) -> None:
    if callable(undo):
        undo()
