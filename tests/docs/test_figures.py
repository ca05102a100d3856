"""The figures of the README are those of the tables in benchmarks/results."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.figures import label_of, times_of

ROOT = Path(__file__).parents[2]


def test_export_time_is_drawn_from_the_table() -> None:
    table = (ROOT / "benchmarks/results/long_list.md").read_text("utf-8")
    times = times_of(table)
    rows = re.findall(
        r"^\| torch (strict|non-strict) \| \d+ \| [\d.]+ \| (\d+) \|.*?\*\*([\d.]+)×\*\*", table, re.MULTILINE
    )
    assert [(str(len(found)), label_of("", found).split()[1]) for found in times.values()] == [row[1:] for row in rows]
    drawn = (ROOT / "docs/figures/export_time.svg").read_text("utf-8")
    assert all(label_of(exporter, found) in drawn for exporter, found in times.items())
    assert drawn.count("<use") >= sum(map(len, times.values()))
