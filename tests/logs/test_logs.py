"""The logs of real exports: what they say, that they name the program's lines, and that they change nothing."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch._dynamo  # a run during which torch imports it is made again, and its lines are logged twice

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from dynamo_lite.logging import ARTIFACTS, UnknownArtifact, help_text, is_on, set_logs
from dynamo_lite.logging.values import short

from .programs import EXPORTED, branches, counts, fixed, line_of, sizes, unbacked


@pytest.fixture(autouse=True)
def off_again() -> Iterator[None]:
    yield
    set_logs()


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[..., list[str]]:
    """Export a program with these logs on; the messages of one artifact."""

    def export(spec: str, build: Callable[[], Any], name: str | None = None, **options: Any) -> list[str]:
        set_logs(spec)
        module, args, shapes = build()
        caplog.clear()
        dynamo_lite.export(module, args, dynamic_shapes=shapes, **options)
        logger = f"dynamo_lite.{name or spec.lstrip('+')}"
        return [record.getMessage() for record in caplog.records if record.name == logger]

    return export


def only(lines: list[str], *parts: str) -> str:
    """The one line that has all of these parts."""
    found = [line for line in lines if all(part in line for part in parts)]
    assert len(found) == 1, "\n".join(lines)
    return found[0]


# --- settings ---------------------------------------------------------------------------------------------------------


def test_a_name_is_info_plus_is_debug_and_minus_is_off() -> None:
    set_logs("+dynamic,guards,graph,-graph")
    levels = {name: [is_on(name, level) for level in (logging.DEBUG, logging.INFO)] for name in ARTIFACTS}
    on = {name: row for name, row in levels.items() if any(row)}
    assert on == {"dynamic": [True, True], "guards": [False, True]}


def test_keywords_and_all() -> None:
    set_logs("all", graph=False, calls=logging.DEBUG)
    assert {name for name in ARTIFACTS if not is_on(name)} == {"graph"}
    assert {name for name in ARTIFACTS if is_on(name, logging.DEBUG)} == {"calls"}


@pytest.mark.parametrize(("spec", "close"), [("dynamc", "dynamic"), ("+guard", "guards"), ("graphcode", "graph_code")])
def test_an_unknown_name_is_an_error_with_the_close_ones(spec: str, close: str) -> None:
    set_logs("timing")
    with pytest.raises(UnknownArtifact, match=f"{spec.strip('+')}.*did you mean.*{close}"):
        set_logs(spec)
    assert is_on("timing")


def test_help_lists_everything() -> None:
    text = help_text()
    assert all(name in text and artifact.what in text and artifact.more in text for name, artifact in ARTIFACTS.items())


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_dynamic_says_where_symbols_and_guards_come_from(logged: Any) -> None:
    lines = logged("dynamic", sizes)
    symbol = only(lines, "create symbol s0 = 5")
    assert "L['x'].size()[0]" in symbol and "[2, oo]" in symbol and "Dim.AUTO" in symbol
    assert 'CREATE_SYMBOL="s0"' in symbol
    guard = only(lines, "guard added: s0 >= 4")
    assert line_of("branch") in guard and "if x.shape[0] > 3" in guard
    assert 'GUARD_ADDED="s0 >= 4"' in guard
    equal = only(lines, "guard added: Eq(")
    assert line_of("broadcast") in equal and "aten.add.Tensor" in equal


def test_debug_adds_ranges_and_replacements(logged: Any) -> None:
    lines = logged("+dynamic", sizes)
    only(lines, "range of s0: [2, oo] becomes [4, oo]")
    only(lines, "replacement:", "s1")
    assert not [line for line in logged("dynamic", sizes) if "range of" in line or "replacement" in line]


def test_a_specialisation_names_the_line_and_the_reason(logged: Any) -> None:
    lines = logged("dynamic", fixed)
    assert line_of("needs the number") in only(lines, "specialised: s0 is 3")
    assert "range() needs the number" in only(lines, "specialised: s0 == 3")


def test_unbacked_symbols_and_run_time_assertions(logged: Any) -> None:
    lines = logged("dynamic", unbacked)
    assert line_of("unbacked") in only(lines, "create unbacked symbol u0")
    assert line_of("check") in only(lines, "run-time assertion added: u0 >= 2")


def test_the_stacks_of_one_guard_and_one_symbol(logged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNAMO_LITE_EXTENDED_DEBUG_GUARD_ADDED", "s0>=4")
    monkeypatch.setenv("DYNAMO_LITE_EXTENDED_DEBUG_CREATE_SYMBOL", "s1")
    lines = logged("", sizes, "dynamic")
    assert len(lines) == 2
    stacks = only(lines, "s0 >= 4 is recorded")
    where = line_of("branch").partition(":")[2]
    assert f'programs.py", line {where}, in forward' in stacks and "assume_answer" in stacks
    only(lines, "symbol s1 is created")


# --- the program ------------------------------------------------------------------------------------------------------


def test_a_refusal_is_logged_with_its_line(logged: Any, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(GraphBreak) as raised:
        logged("graph_breaks", branches, control_flow="refuse")
    assert caplog.records[-1].getMessage() == str(raised.value)
    assert f"line {line_of('on data').partition(':')[2]}" in str(raised.value)


def test_a_captured_branch_is_no_graph_break(logged: Any) -> None:
    assert logged("graph_breaks", branches) == []


def test_bytecode_shows_instructions_with_the_stack(logged: Any) -> None:
    where = line_of("branch").partition(":")[2]
    lines = [line for line in logged("bytecode", sizes) if line.startswith(f"forward:{where} ")]
    assert "LOAD_FAST x" in lines[0] and lines[0].endswith("[]")
    assert lines[1].endswith("[Tensor(float32[s0, 4])]")
    assert "[s0, 3]" in only(lines, "COMPARE_OP")


def test_trace_source_shows_the_program_s_lines(logged: Any) -> None:
    lines = logged("trace_source", sizes)
    assert all("programs.py" in line for line in lines)
    assert [line_of(mark) in "\n".join(lines) for mark in ("branch", "broadcast", "scale")] == [True] * 3
    assert any("torch/nn/modules/linear.py" in line for line in logged("+trace_source", sizes))


def test_calls_are_shown_with_their_arguments(logged: Any) -> None:
    lines = logged("calls", sizes)
    assert all("programs.py" in line for line in lines)
    assert line_of("scale") in only(lines, "relu(Tensor(float32[s0, 4]))")


def test_graph_and_code(logged: Any) -> None:
    (graph,) = logged("graph", sizes)
    assert "torch.ops.aten.relu.default" in graph
    (code,) = logged("graph_code", sizes)
    assert "def forward(self" in code and "torch.ops.aten.relu.default(" in code


def test_assumptions_and_guards_name_the_line(logged: Any) -> None:
    rows = logged("assumptions", sizes)
    scale = only(rows, "L['self'].scale == 3")
    assert f"line {line_of('scale').partition(':')[2]}" in scale
    (tree,) = logged("guards", sizes)
    assert "scale" in tree and f"line {line_of('scale').partition(':')[2]}" in tree


def test_effects_name_the_line(logged: Any) -> None:
    assert line_of("effect") in only(logged("effects", counts), "seen")


def test_timing_tells_each_phase(logged: Any) -> None:
    lines = logged("timing", sizes)
    assert [line.partition(":")[0] for line in lines] == [
        "the run in the interpreter",
        "the conditions on sizes",
        "building the program",
        "the guards",
        "the whole trace",
    ]
    *parts, whole = [float(line.split(": ")[1].removesuffix(" ms")) for line in lines]
    assert 0 < sum(parts) <= whole


# --- what logs must not do --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPORTED)
def test_logs_change_nothing(name: str) -> None:
    found = []
    for spec in ("", "+all"):
        set_logs(spec)
        module, args, shapes = EXPORTED[name]()
        trace = dynamo_lite.trace(module, args, dynamic_shapes=shapes)
        program = trace.program
        conditions = [program.range_constraints, program._guards_code, [guard.text for guard in trace.guards]]
        found.append((str(program.graph), conditions, list(map(str, trace.specializations)), list(trace.notes)))
    assert found[0] == found[1]


def test_no_code_of_the_program_runs_to_show_a_value() -> None:
    class Meta(type):
        def __hash__(cls) -> int:
            raise AssertionError

        def __eq__(cls, other: object) -> bool:
            raise AssertionError

    def refuses(*args: Any) -> Any:
        raise AssertionError

    namespace = dict.fromkeys(("__repr__", "__str__", "__getattribute__", "__len__", "__iter__", "__eq__"), refuses)
    cls = Meta("Odd", (list,), {**namespace, "__class__": property(refuses)})
    assert short(list.__new__(cls)) == "<Odd>"
    assert short(cls).endswith("Odd")
    assert short([torch.ones(2, 3), {"a": (1, "b")}, None]) == "[Tensor(float32[2, 3]), {'a': <tuple of 2>}, None]"


def test_nothing_is_hooked_when_all_is_off() -> None:
    from dynamo_lite.logging import reports

    class NoRun:
        """A run that must not be touched."""

    reports.attach(NoRun())  # type: ignore[arg-type]


def run_with(spec: str, script: str) -> Any:
    environment = {**os.environ, "DYNAMO_LITE_LOGS": spec}
    return subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False,
                          env=environment)  # fmt: skip


def test_the_environment_variable_logs_to_stderr() -> None:
    script = "import torch, dynamo_lite; dynamo_lite.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))"
    run = run_with("graph", script)
    assert (run.returncode, run.stdout) == (0, "")
    assert "#0 [dynamo_lite.graph] graph():" in run.stderr.splitlines()[0]


def test_help_and_mistakes_in_the_environment_variable() -> None:
    run = run_with("help", "import dynamo_lite.logging")
    assert (run.returncode, run.stderr.strip()) == (0, help_text())
    run = run_with("grph", "import dynamo_lite.logging")
    assert run.returncode == 1 and "there is no log 'grph'; did you mean 'graph'" in run.stderr


# --- whose lines ------------------------------------------------------------------------------------------------------


def test_locals_are_those_of_the_users_innermost_function(caplog: pytest.LogCaptureFixture) -> None:
    def helper(rows: torch.Tensor, k: int) -> Any:
        names = ["a", "b"]
        return sorted([float(rows.sum()), 1.0]), names, k

    class Refused(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            outer = torch.nn.functional.relu(x)
            return helper(outer, 3)

    set_logs("locals")
    with pytest.raises(GraphBreak):
        dynamo_lite.export(Refused(), (torch.ones(3, 2),), control_flow="refuse")
    text = only([record.getMessage() for record in caplog.records if record.name == "dynamo_lite.locals"], "in helper")
    assert "  rows = Tensor(float32[3, 2])" in text and "  k = 3" in text and "names = ['a', 'b']" in text
    assert "outer" not in text


def test_records_have_the_number_of_their_export(caplog: pytest.LogCaptureFixture) -> None:
    set_logs("timing")
    for _ in range(2):
        dynamo_lite.export(torch.nn.Linear(2, 2), (torch.ones(3, 2),))
    numbers = [record.export for record in caplog.records if "the whole trace" in record.getMessage()]  # type: ignore[attr-defined]
    assert len(numbers) == 2 and numbers[1] == numbers[0] + 1


def test_a_line_on_stderr_begins_with_the_time_and_the_export() -> None:
    program = "import torch, dynamo_lite; dynamo_lite.export(torch.nn.Linear(2, 2), (torch.ones(3, 2),))"
    environment = {**os.environ, "DYNAMO_LITE_LOGS": "timing"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert lines and all(re.match(r"\d\d:\d\d:\d\d\.\d{3} #0 \[dynamo_lite\.timing\] ", line) for line in lines)
