"""What a program reads from outside is guarded: a change that it would see fails a guard on that place, others none."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import dynamo_lite
from tests.guards import ways

from . import object_programs  # noqa: F401  (adds its programs)
from .programs import READINGS, Reading

BREAKS = [(name, change) for name, row in READINGS.items() for change in row.breaks]


def _same(found: Any, expected: Any) -> None:
    for a, b in zip(pytree.tree_leaves(found), pytree.tree_leaves(expected), strict=True):
        assert torch.equal(a, b) if isinstance(b, torch.Tensor) else a == b


def _trace(row: Reading) -> tuple[Any, Any, tuple[Any, ...]]:
    mod, args = row.make(), row.args()
    found = dynamo_lite.trace(mod, args)
    assert ways.check(found.guards, mod, args) is None
    _same(found.program.module()(*args), mod(*args))
    return mod, found, args


@pytest.mark.parametrize(("name", "change"), BREAKS, ids=lambda value: str(value).replace(" ", "_"))
def test_a_change_that_the_program_sees_fails_its_guard(
    name: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = READINGS[name]
    mod, found, args = _trace(row)
    make, text = row.breaks[change]
    make(mod, monkeypatch)
    index = ways.failing(found.guards, mod, args)
    failure = found.guards.check(mod, args)
    assert failure is not None and failure.index == index
    assert text in failure.guard.text, str(failure)
    assert "expected" in found.guards.explain(failure) and failure.found


@pytest.mark.parametrize("name", READINGS)
def test_what_the_program_does_not_see_fails_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other values of the inputs, and each change of `keeps`, one after the other."""
    row = READINGS[name]
    mod, found, args = _trace(row)
    others = tuple(torch.rand_like(a) if isinstance(a, torch.Tensor) else a for a in args)
    assert found.guards.check(mod, others) is None
    for text, change in row.keeps.items():
        change(mod, monkeypatch)
        failure = ways.check(found.guards, mod, args)
        assert failure is None, f"{text}: {failure}"
        _same(found.program.module()(*args), mod(*args))


def test_an_error_of_ours_makes_a_guard_that_never_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("dynamo_lite.tracing.assumptions.collect._start", broken)
    mod, args = READINGS["attribute"].make(), READINGS["attribute"].args()
    found = dynamo_lite.trace(mod, args)
    assert torch.equal(found.program.module()(*args), mod(*args))
    failure = found.guards.check(mod, args)
    assert failure is not None and "a bug" in str(failure)
    assert any("a bug" in note for note in found.notes)
