"""tools/tables.py: tables as data, their form, a page of those that share a state."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import tables  # noqa: E402

TEXT = """\
# Some benchmark

| 20 programs | equal | share |
|---|---|:---:|
| ours | 3 | 50 \\| 60 % |
| torch | 2 | |

no table | here
"""


def _row(name: str = "soundness", text: str = TEXT, **stamp: str) -> dict[str, Any]:
    about = {"commit": "c", "torch": "2", "python": "3", "machine": "m", "date": "d", **stamp}
    return {"name": name, "command": "python", "seconds": 1.0, "tables": list(tables.tables(text)), "stamp": about}


def test_tables_as_data() -> None:
    (found,) = tables.tables(TEXT)
    assert found["columns"] == ["20 programs", "equal", "share"]
    assert found["rows"] == [["ours", "3", "50 \\| 60 %"], ["torch", "2", ""]]


@pytest.mark.parametrize("benchmark", tables.benchmarks(), ids=lambda benchmark: benchmark.name)
def test_each_benchmark_is_there(benchmark: Any) -> None:
    assert (ROOT / "benchmarks" / f"{benchmark.module}.py").exists()
    assert (tables.RESULTS / f"{benchmark.name}.md").exists()
    assert benchmark.columns()
    assert benchmark.command(False)[-1] == "--write" and "--write" not in benchmark.command(True)


def test_another_form_is_found() -> None:
    benchmark = replace(tables.benchmarks(["soundness"])[0], form=["N programs", "equal"])
    assert tables.form(benchmark, _row()) == ""
    assert "columns" in tables.form(benchmark, _row(text=TEXT.replace("equal", "same")))
    assert "columns" in tables.form(benchmark, _row(text="no table"))
    assert "cells" in tables.form(benchmark, _row(text=TEXT.replace("| torch | 2 | |", "| torch | 2 |")))
    assert tables.form(benchmark, {**_row(), "error": "exit status 1"}) == "exit status 1"
    with pytest.raises(LookupError, match="no benchmark 'none'"):
        tables.benchmarks(["none"])


def test_a_benchmark_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = replace(tables.benchmarks(["soundness"])[0], module="no_such_benchmark")
    row = tables.measured(benchmark, True, 60, {})
    assert "exit status 1" in row["error"] and "no_such_benchmark" in row["error"]


@pytest.mark.skipif(importlib.util.find_spec("jinja2") is None, reason="the page is a template")
def test_a_page_of_one_state() -> None:
    page = tables.page([_row(), _row("guards"), _row("old", commit="other")])
    assert page.startswith("# Tables of one state\n\nCommit c, torch 2, Python 3, m; d.\n")
    assert page.count("| ours | 3 | 50 \\| 60 % |\n| torch | 2 |  |\n") == 2
    assert "## guards" in page and "## old" not in page and "Left out, since measured on another state: old." in page
    assert [table["rows"] for table in tables.tables(page)] == [table["rows"] for table in _row()["tables"] * 2]


def test_the_stamp() -> None:
    assert set(tables.stamp()) == {"commit", "torch", "python", "machine", "date"}
