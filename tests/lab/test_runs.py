"""Runs in processes of their own, their files, and the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from dynamo_lite.lab import exporters, programs, runs
from dynamo_lite.lab.commands import app
from dynamo_lite.lab.judge import judge

TOYS = "tests.lab.toys:"


def _lab(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_how_a_process_ends() -> None:
    names = ("counter", "first_call", "buffer_in_place", "buffer_replaced", "buffer_two_names", "buffers_swapped")
    ids = [f"state.{name}" for name in names]
    rows = list(runs.run(ids, f"{TOYS}Ends", limits=runs.Limits(seconds=8, megabytes=512)))
    assert [row["id"] for row in rows] == ids
    assert [row["verdict"] for row in rows] == ["crash", "crash", "timeout", "crash", "equal", "equal"]
    texts = [row.get("text", "") for row in rows]
    assert texts[:3] == ["the process ends by SIGABRT", "the process exits with 3", "no answer in 8 s"]
    assert "memory" in texts[3]


def test_a_host_that_cannot_start() -> None:
    with pytest.raises(RuntimeError, match="before its first answer"):
        list(runs.run(["state.counter"], f"{TOYS}Missing"))


def test_two_processes_give_each_program_once(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    words = ("run", "--exporter", f"{TOYS}Recorded", "--classes", "state,sizes", "--out", out)
    result = _lab(*words, "--jobs", "2", "--limit", "8")
    assert result.exit_code == 1, result.output
    assert "state.counter: in call 1" in result.output and "\x1b" not in result.output
    stamp, *rows = map(json.loads, out.read_text().splitlines())
    assert {"commit", "torch", "python", "date", "exporter"} <= stamp["stamp"].keys()
    assert len({row["id"] for row in rows}) == len(rows) == 8

    out.write_text("\n".join(out.read_text().splitlines()[:5]) + '\n{"id": "cut')  # ended in the middle of a line
    assert _lab(*words, "--resume", "--limit", "10").exit_code == 1
    assert len(runs.read(out).answers) == 10
    assert len(out.read_text().splitlines()) == 11

    other = (
        "run",
        "--exporter",
        f"{TOYS}Toy",
        "--classes",
        "state",
        "--limit",
        "10",
        "--out",
        tmp_path / "other.jsonl",
    )
    assert _lab(*other).exit_code in (0, 1)
    page = tmp_path / "page.html"
    report = _lab("report", out, "--html", page)
    assert report.exit_code == 0 and "wrong" in report.output
    text = page.read_text(encoding="utf-8")
    assert "class Counter(nn.Module)" in text and "Eager" in text and 'class="bar"' in text
    difference = _lab("diff", out, tmp_path / "other.jsonl")
    assert difference.exit_code == 1 and "state.buffer_in_place: wrong -> equal" in difference.output
    assert _lab("diff", out, out).exit_code == 0


def test_a_file_of_another_run(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("{}\n")
    result = _lab("report", path)
    assert result.exit_code == 2 and "was not written by `lab run`" in result.output
    path.write_text(json.dumps({"stamp": {"exporter": "eager"}}) + "\n")
    assert _lab("run", "--exporter", "torch-fx", "--resume", "--out", path).exit_code == 2


def test_list_and_show() -> None:
    assert "state.counter " in _lab("list").output
    assert "torch-nonstrict\n" in _lab("list", "--exporters").output
    assert "def counter() -> Example:" in _lab("show", "state.counter").output
    assert "wrong with dynamo-lite: a result that is the argument" in _lab("show", "control_flow.while_loop").output
    assert _lab("show", "state.nothing").exit_code == 2
    assert _lab("list", "--classes", "nothing").exit_code == 2
    assert _lab("run", "--exporter", "nothing").exit_code == 2


def test_thunder_says_why_it_cannot_be_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(exporters.metadata, "version", lambda name: "0.2.6")
    monkeypatch.setitem(sys.modules, "thunder", None)  # its import raises
    with pytest.raises(ImportError, match=r"lightning-thunder 0\.2\.6 cannot be imported beside torch"):
        exporters.load("thunder")

    def missing(name: str) -> str:
        raise exporters.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(exporters.metadata, "version", missing)
    result = _lab("run", "--exporter", "thunder", "--out", tmp_path / "rows.jsonl")
    assert result.exit_code == 2 and "pip install lightning-thunder" in result.output
    assert not (tmp_path / "rows.jsonl").exists()


def test_thunder_traces_at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a thunder that calls the function, and refuses a branch as its interpreter does."""

    InterpreterError = type("InterpreterError", (RuntimeError,), {"__module__": "builtins"})

    def jit(module: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if type(module).__name__ == "First":
                raise InterpreterError("a branch")
            return module(*args, **kwargs)

        return call

    parts = {"thunder": {"jit": jit}, "thunder.core.interpreter": {"InterpreterError": InterpreterError}}
    for name, members in parts.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**members))
    monkeypatch.setattr(exporters.metadata, "version", lambda name: "0.2.6")
    thunder = exporters.load("thunder")
    assert thunder.version == "0.2.6"
    assert judge(programs.find("state.counter"), thunder).verdict == "equal"
    answer = judge(programs.find("state.first_call"), thunder)
    assert (answer.verdict, answer.text) == ("refused", "InterpreterError: a branch")
