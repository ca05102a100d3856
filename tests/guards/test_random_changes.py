"""A change of any state is told by a guard, or does not matter: the sweep of benchmarks/guard_soundness.py in small."""

from __future__ import annotations

from itertools import islice

import pytest

from benchmarks.guard_soundness import sweep
from tests.export.generated import probe as generated
from tests.export.probe import all_probes

FILES = ("state_python", "language_classes", "language_functions", "language_stdlib")
PER_FILE, CHANGES = 4, 5


@pytest.mark.parametrize("file", FILES)
def test_a_random_change_of_state_is_told_or_does_not_matter(file: str) -> None:
    ours = (p for p in all_probes() if p.name.startswith(f"{file}.") and "equal" in p.allowed)
    rows = [*sweep(islice(ours, 3, 3 + PER_FILE), CHANGES, seed=1)]
    assert [row for row in rows if row[2].startswith("wrong")] == []


def test_the_sweep_makes_changes_that_matter() -> None:
    """Most changes of generated stateful programs are told; some do not matter."""
    rows = [*sweep((generated(seed) for seed in range(14)), CHANGES, seed=1)]
    outcomes = {outcome for _, _, outcome in rows}
    assert {"told", "held"} <= outcomes and not any(outcome.startswith("wrong") for outcome in outcomes), rows
