"""explain() finds what export refuses: the cases are the oracle."""

from __future__ import annotations

import pytest

import dynamo_lite
from dynamo_lite.exportdb import catalogue
from dynamo_lite.exportdb.case import Case
from dynamo_lite.exportdb.checking import quietly
from dynamo_lite.tracing.vocabulary.graph_breaks import GRAPH_BREAKS

BUILDING = ("unbound-size", "symbolic-layout")
"""What is refused when the program is built, after the run."""


def _is_plain(case: Case) -> bool:
    """Whether the case is a call of export with nothing special about the call itself."""
    return case.error in (None, *GRAPH_BREAKS, *BUILDING) and not case.rejects and not hasattr(case.file, "export")


PLAIN = [case for case in catalogue.all_cases() if _is_plain(case)]
REFUSED = [case.name for case in PLAIN if case.error is not None]
WORKING = [case.name for case in PLAIN if case.error is None][::4]  # a sample: all of them are exported elsewhere


@pytest.mark.parametrize("name", [*REFUSED, *WORKING])
def test_explain_finds_the_error_of_a_case_and_none_where_it_works(name: str) -> None:
    case = catalogue.load(name)
    call = case.inputs()
    with quietly():
        found = dynamo_lite.explain(case.module(), call.args, call.kwargs, dynamic_shapes=case.dynamic_shapes())
    if case.error is None:
        assert found.ids == []
        return
    assert case.error in found.ids
    problem = found.problems[found.ids.index(case.error)]
    assert problem.error.exportdb == catalogue.case_for(case.error) or problem.error.case is not None
    shown = [frame.lineno for frame in problem.error.frames if frame.filename == str(case.path)]
    assert (shown[-1] if shown else None) == case.marked_line
