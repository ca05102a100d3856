"""Each probe gets one of the answers that are right, and leaves the user's objects alone."""

from __future__ import annotations

import pytest

from dynamo_lite.tracing.vocabulary.graph_breaks import GRAPH_BREAKS

from .known_gaps import KNOWN_GAPS
from .probe import Probe, all_probes
from .verdict import OF_DATA, complaint_where_captured, eager, judge

PROBES = list(all_probes())


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_answer_is_right(probe: Probe, request: pytest.FixtureRequest) -> None:
    if reason := KNOWN_GAPS.get(probe.name):
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    complaint = judge(probe).complaint(probe)
    assert complaint is None, complaint


@pytest.mark.parametrize("probe", [p for p in PROBES if p.allowed & OF_DATA], ids=lambda probe: probe.name)
def test_what_decides_by_data_is_captured_or_refused(probe: Probe) -> None:
    complaint = complaint_where_captured(probe)
    assert complaint is None, complaint


def test_probes_are_many_and_named_once() -> None:
    names = [probe.name for probe in PROBES]
    assert len(names) == len(set(names)) > 500
    assert KNOWN_GAPS.keys() <= set(names)


def test_expected_refusals_exist() -> None:
    """A probe may only expect an id that the table of refusals has (or one that other layers raise)."""
    others = {"equal", "raises", "unsupported-value", "invalid-arguments"}
    unknown = {probe.name: probe.allowed - GRAPH_BREAKS.keys() - others for probe in PROBES}
    assert {name: ids for name, ids in unknown.items() if ids} == {}


@pytest.mark.parametrize("probe", [p for p in PROBES if "raises" in p.allowed], ids=lambda probe: probe.name)
def test_eager_raises_where_the_probe_says_so(probe: Probe) -> None:
    assert eager(probe.case()).seen[0].raised is not None
