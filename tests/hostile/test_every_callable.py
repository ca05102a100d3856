"""No public callable of torch ends the process, changes the user's tensors or is an internal error, given stand-ins."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def _wrong(first: int, step: int) -> tuple[int, list[list[str]]]:
    """(how many callables were called, the calls that were not right)."""
    command = [sys.executable, "-m", "tests.hostile.every_callable", str(first), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *rows, count = [json.loads(line) for line in done.stdout.splitlines() if line[:1] in "[0123456789"]
    return count, rows


def test_a_sample_of_callables() -> None:
    count, rows = _wrong(11, 100)
    assert count > 5 and rows == []


@pytest.mark.long
@pytest.mark.parametrize("first", range(6))
def test_every_callable(first: int) -> None:
    count, rows = _wrong(first, 6)
    assert count > 250 and rows == []
