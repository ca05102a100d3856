"""The table of operators that raise for some data, against torch's kernels."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def _missing(first: int, step: int) -> tuple[int, list[list[str]]]:
    """(how many rows were found, those that the table does not have)."""
    command = [sys.executable, "-m", "tests.capture.hostile_operators", str(first), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    return len(rows), [row[:2] for row in rows if not row[2]]


def test_a_sample_of_operators() -> None:
    found, missing = _missing(3, 25)
    assert found and missing == []


@pytest.mark.long
@pytest.mark.parametrize("first", range(4))
def test_every_operator(first: int) -> None:
    found, missing = _missing(first, 4)
    assert found and missing == []
