"""Generated stateful programs: equal to eager in three calls, or refused; never wrong, never an internal error."""

from __future__ import annotations

import collections

import pytest

from .generated import DATA, QUIET, STATE, body, probe, source
from .verdict import itself, judge

COUNT = 200
BATCH = 20


@pytest.mark.parametrize("first", range(0, COUNT, BATCH))
def test_programs_are_right_or_refused(first: int) -> None:
    for seed in range(first, first + BATCH):
        program = probe(seed)
        verdict = judge(program)
        complaint = verdict.complaint(program)
        assert verdict.kind == "raises" or complaint is None, f"program {seed}: {complaint}\n{body(seed)}"
        assert verdict.changed is None, f"program {seed}: {verdict.changed}\n{body(seed)}"


def test_programs_are_worth_running() -> None:
    """Eager equals itself on them, most run without an error, and every statement is drawn."""
    kinds = collections.Counter(judge(probe(seed), itself, watch=False).kind for seed in range(60))
    assert kinds == {"equal": 60}
    drawn = "".join(body(seed) for seed in range(COUNT * 10))
    assert [line for line in (*QUIET, *STATE, *DATA) if line not in drawn] == []


def test_programs_are_the_same_every_time() -> None:
    assert source(7) == source(7) != source(8)
