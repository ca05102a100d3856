"""Do the guards of a trace tell every change of state that matters? State is changed at random; then either a guard
fails, or the program still equals the changed module. The compiled function and the check guard by guard
(tests/guards/one_by_one.py) have to say the same.

    python -m benchmarks.guard_soundness [--changes 12] [--generated 150] [--seed 0] [--write]

The programs are the probes of tests/export and generated stateful ones; benchmarks/state_changes.py says what is
changed. "held": the guards pass and both give the same; "told": a guard fails; "wrong": the guards pass, and the
program gives something else than the changed module.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import random
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

import dynamo_lite
from benchmarks.exporters import machine
from benchmarks.state_changes import State
from dynamo_lite.replay.compare import different_trees, different_values
from dynamo_lite.replay.pair import own_state
from dynamo_lite.replay.seen import plain
from tests.export.generated import probe as generated
from tests.export.probe import Case, Probe, all_probes
from tests.guards import ways

RESULTS = Path(__file__).parent / "results" / "guard_soundness.md"


def sweep(probes: Iterable[Probe], changes: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """(program, change, what came of it) for some changes of each program that can be traced."""
    for probe in probes:
        rng = random.Random(f"{seed} {probe.name}")
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield from _of_one(probe, changes, rng)


def _of_one(probe: Probe, changes: int, rng: random.Random) -> Iterator[tuple[str, str, str]]:
    case = probe.case()
    before = State(case.program)
    try:
        trace = dynamo_lite.trace(case.program, *copy.deepcopy((case.args, case.kwargs)))
        if trace.effects or ways.check(trace.guards, case.program, case.args, case.kwargs) is not None:
            return  # state that the program itself changes is another matter
    except Exception:
        return
    finally:
        before.restore()
    for number in range(changes):
        state = State(case.program)
        todo = state.changes(rng)
        if number < len(todo):
            yield probe.name, todo[number].text, _after(trace, case, todo[number], state)


def _after(trace: Any, case: Case, change: Any, state: State) -> str:
    try:
        try:
            change.make()
        except Exception:
            return "not possible"
        if ways.failing(trace.guards, case.program, case.args, case.kwargs) >= 0:
            return "told"
        try:
            program = own_state(trace.program)  # a copy of the state as it is now: both sides may change it
            got, also = _call(program, case)
        except Exception as error:
            got, also = None, error
        want, raised = _call(case.program, case)
        if type(raised) is not type(also):
            return f"wrong: eager raises {raised!r}, the program {also!r}"
        if raised is not None:
            return "held"
        return _difference(want, got) or "held"
    finally:
        state.restore()


def _call(program: Any, case: Case) -> tuple[Any, Exception | None]:
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    torch.manual_seed(0)
    random.seed(0)
    try:
        return plain(program(*args, **kwargs)), None
    except Exception as error:
        return None, error


def _difference(want: Any, got: Any) -> str | None:
    if text := different_trees(want, got):
        return f"wrong: the output {text}"
    for mine, theirs in zip(pytree.tree_leaves(want), pytree.tree_leaves(got)):
        if text := different_values(mine, theirs, 1e-5):
            return f"wrong: an output {text}"
    return None


def programs(count: int) -> Iterator[Probe]:
    """The probes, then so many generated programs."""
    yield from (probe for probe in all_probes() if "equal" in probe.allowed)
    yield from (generated(seed) for seed in range(count))


def table(rows: list[tuple[str, str, str]], options: argparse.Namespace) -> str:
    counts = Counter(outcome.partition(":")[0] for _, _, outcome in rows)
    lines = ["# Guards against random changes of state", "", machine(), ""]
    how = f"--changes {options.changes} --generated {options.generated} --seed {options.seed}"
    lines += [f"{len({name for name, _, _ in rows})} programs, {how}", "", "| outcome | changes |", "|---|---|"]
    lines += [f"| {outcome} | {count} |" for outcome, count in counts.most_common()]
    wrong = [row for row in rows if row[2].startswith("wrong")]
    if wrong:
        lines += ["", "| program | change | difference |", "|---|---|---|"]
        lines += [f"| {name} | {change} | {outcome[7:160]} |" for name, change, outcome in wrong]
    return "\n".join([*lines, "", (__doc__ or "").strip(), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=12)
    parser.add_argument("--generated", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = [*sweep(programs(options.generated), options.changes, options.seed)]
    text = table(rows, options)
    print(text)
    if options.write:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
