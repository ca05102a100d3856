"""What a program reads from outside is guarded: a change that it would see fails a guard on that place, others none."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dynamo_lite

from .programs import READINGS, Reading

BREAKS = [(name, change) for name, row in READINGS.items() for change in row.breaks]
KEEPS = [(name, change) for name, row in READINGS.items() for change in row.keeps]


def _trace(row: Reading) -> tuple[Any, Any, tuple[Any, ...]]:
    mod, args = row.make(), row.args()
    found = dynamo_lite.trace(mod, args)
    assert found.guards.check(mod, args) is None
    assert torch.equal(found.program.module()(*args), mod(*args))
    return mod, found, args


@pytest.mark.parametrize(("name", "change"), BREAKS, ids=lambda value: str(value).replace(" ", "_"))
def test_a_change_that_the_program_sees_fails_its_guard(
    name: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = READINGS[name]
    mod, found, args = _trace(row)
    make, text = row.breaks[change]
    make(mod, monkeypatch)
    failure = found.guards.check(mod, args)
    assert failure is not None
    assert text in failure.guard.text, str(failure)
    assert "expected" in found.guards.explain(failure) and failure.found


@pytest.mark.parametrize(("name", "change"), KEEPS, ids=lambda value: str(value).replace(" ", "_"))
def test_a_change_that_the_program_does_not_see_fails_none(
    name: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = READINGS[name]
    mod, found, args = _trace(row)
    row.keeps[change](mod, monkeypatch)
    failure = found.guards.check(mod, args)
    assert failure is None, str(failure)
    assert torch.equal(found.program.module()(*args), mod(*args))


@pytest.mark.parametrize("name", READINGS)
def test_other_input_values_fail_none(name: str) -> None:
    mod, found, args = _trace(READINGS[name])
    others = tuple(torch.rand_like(a) if isinstance(a, torch.Tensor) else a for a in args)
    assert found.guards.check(mod, others) is None
