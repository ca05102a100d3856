"""Each program of `programs/` gets an answer that is right, and leaves the user's objects alone."""

from __future__ import annotations

import pytest

from dynamo_lite.tracing.vocabulary.graph_breaks import GRAPH_BREAKS
from tests.export.probe import Probe, all_probes
from tests.export.verdict import OF_DATA, complaint_where_captured, judge

PROGRAMS = list(all_probes("tests.hostile.programs"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_answer_is_right(program: Probe) -> None:
    complaint = judge(program).complaint(program)
    assert complaint is None, complaint


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.allowed & OF_DATA], ids=lambda program: program.name)
def test_what_decides_by_data_is_captured_or_refused(program: Probe) -> None:
    complaint = complaint_where_captured(program)
    assert complaint is None, complaint


def test_expected_refusals_exist() -> None:
    """A program may only expect an id that the table of refusals has (or one that other layers raise)."""
    others = {"equal", "raises", "unsupported-value", "invalid-arguments", "constraint-violation"}
    unknown = {program.name: program.allowed - GRAPH_BREAKS.keys() - others for program in PROGRAMS}
    assert {name: ids for name, ids in unknown.items() if ids} == {}
