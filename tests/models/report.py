"""Export every model and say which work: one table, with times beside torch.export's.

    make models                                  the core and the long list
    python -m tests.models.report --only bert,vit --exporters dynamo-lite
    python -m tests.models.report --write        keep the table in benchmarks/results/models.md
    python -m tests.models.report --dynamic      with a dynamic batch, and length where there is one, at other sizes too
    python -m tests.models.report --log FILE     append each outcome to FILE as it comes, and skip those already there

Every model is built afresh for every exporter and exported once, cold. Workers are processes of their own: one that
dies or hangs is a result for the model it was at, and another takes the rest.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import math
import re
import signal
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.export import ExportedProgram

from benchmarks.exporters import EXPORTERS, NON_STRICT, OURS, STRICT, first_line, machine, progress, timed

from .compare import disagreement, run, told_of_export
from .dynamic import Axis, batch_axis, dynamic_shapes, length_axis, resized
from .registry import CORE, LONG, Inputs, Model, load

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SECONDS_PER_EXPORT = 120
MODELS_PER_WORKER = 25


@dataclass
class Outcome:
    """What one model gave: seconds of each export (NaN where it failed) and the reason of each failure.

    `static` says which of the sizes that were to be dynamic the model itself makes static, and the line that does it.
    """

    name: str
    seconds: dict[str, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    static: str = ""

    def passed(self, exporter: str) -> bool:
        return exporter in self.seconds and exporter not in self.problems


class TimedOut(Exception):
    """An export took longer than `SECONDS_PER_EXPORT`."""


def _alarm(signum: int, frame: FrameType | None) -> None:
    raise TimedOut(f"longer than {SECONDS_PER_EXPORT} s")


def attempt(model: Model, exporter: str, outcome: Outcome) -> None:
    """Export one model with one exporter and compare the program with eager; the result goes into `outcome`."""
    case = model.case()
    timing = timed(exporter, case.module, case.inputs(0))
    outcome.seconds[exporter] = timing.seconds
    if timing.program is None:
        outcome.problems[exporter] = timing.refusal
        return
    problem = _held_against_eager(timing.program, model, case.inputs, (0, 1))
    if problem:
        outcome.problems[exporter] = problem


def _held_against_eager(
    program: ExportedProgram, model: Model, inputs: Callable[[int], Inputs], seeds: tuple[int, ...]
) -> str | None:
    """How the program differs from eager, or None.

    A model may ask whether it is exported and go another way then (a mask that is not skipped). Where the program
    differs for that alone, it equals an eager run that gets the same answer.
    """
    eager = model.case()
    problem = disagreement(copy.deepcopy(program).module(), eager.module, inputs, seeds, eager.tolerance)
    if problem is None:
        return None
    told = model.case()
    with told_of_export():
        equal = disagreement(copy.deepcopy(program).module(), told.module, inputs, seeds, told.tolerance) is None
    return f"AsksIsExporting: {problem}" if equal else f"WRONG: {problem}"


def attempt_dynamic(model: Model, exporter: str, outcome: Outcome) -> None:
    """The same with a dynamic batch and length: the program is also compared with eager at other sizes."""
    case = model.case()
    batch, length = batch_axis(case), length_axis(case)
    axes = [axis for axis in (batch, length) if axis is not None]
    if not axes:
        attempt(model, exporter, outcome)
        return
    inputs: Inputs = case.inputs(0) if batch is None or batch.size > 1 else resized(case, batch, 2)(0)
    timing = timed(exporter, case.module, inputs, dynamic_shapes(case, *axes))
    outcome.seconds[exporter] = timing.seconds
    if timing.program is None:
        outcome.problems[exporter] = timing.refusal
        return
    fixed = {s.value: _line(s.origin) for s in getattr(timing.program, "specializations", ())}
    for axis, sizes in _other_sizes(batch, length):
        if sizes[0] in fixed:
            outcome.static = f"{'batch' if axis is batch else 'length'}: {fixed[sizes[0]]}"
            sizes = sizes[:1]
        for size in sizes:
            inputs_of_size = resized(case, axis, size)
            if not _takes(model.case().module, inputs_of_size(0)):
                continue
            problem = _held_against_eager(timing.program, model, inputs_of_size, (0,))
            if problem:
                outcome.problems[exporter] = f"{problem}, at size {size}"
                return


def _takes(eager: torch.nn.Module, inputs: Inputs) -> bool:
    """Whether eager works on these inputs (the length of a text may be tied to something else, images say)."""
    try:
        run(eager, inputs)
    except Exception:
        return False
    return True


def _line(origin: Any) -> str:
    return f"{Path(origin.file).name}:{origin.line} `{origin.code}`"


def _other_sizes(batch: Axis | None, length: Axis | None) -> Iterator[tuple[Axis, tuple[int, ...]]]:
    """For each axis the example's size and others."""
    if batch is not None:
        yield batch, (max(batch.size, 2), max(batch.size, 2) + 1)
    if length is not None and (batch is None or batch.size > 1):
        yield length, (length.size, length.size - 1)


def work(names: list[str], exporters: list[str], dynamic: bool) -> None:
    """A worker: one JSON line per model on standard output, after a line that announces it."""
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _alarm)
    models = load(CORE, LONG)
    for name in names:
        print(json.dumps({"started": name}), flush=True)
        outcome = Outcome(name)
        for exporter in exporters:
            signal.alarm(SECONDS_PER_EXPORT)
            try:
                (attempt_dynamic if dynamic else attempt)(models[name], exporter, outcome)
            except Exception as error:  # a failure of any kind is this report's subject
                outcome.problems[exporter] = first_line(error)
            finally:
                signal.alarm(0)
        print(json.dumps(asdict(outcome)), flush=True)


def _run_worker(names: list[str], exporters: list[str], dynamic: bool) -> Iterator[Outcome]:
    command = [sys.executable, "-W", "ignore", "-m", "tests.models.report", "--worker", ",".join(names)]
    command += ["--exporters", ",".join(exporters), *(["--dynamic"] if dynamic else [])]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        started = ""
        for line in process.stdout:
            if not line.startswith("{"):
                continue  # a library's own print
            data = json.loads(line)
            if "started" in data:
                started = data["started"]
                continue
            started = ""
            yield Outcome(**data)
    if started:
        reason = f"the process died (exit status {process.returncode})"
        yield Outcome(started, {}, dict.fromkeys(exporters, reason))


def outcomes(names: list[str], exporters: list[str], dynamic: bool) -> Iterator[Outcome]:
    """Run `names` in workers, one after the other; a worker that dies is followed by one for what is left."""
    left = list(names)
    while left:
        done: set[str] = set()
        for outcome in _run_worker(left[:MODELS_PER_WORKER], exporters, dynamic):
            done.add(outcome.name)
            yield outcome
        if not done:
            raise RuntimeError(f"a worker ended before {left[0]} without a word")
        left = [name for name in left if name not in done]


def read_log(path: Path | None) -> dict[str, Outcome]:
    """The outcomes of an earlier run, by name; the last one of a name counts."""
    if path is None or not path.exists():
        return {}
    found = (Outcome(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())
    return {outcome.name: outcome for outcome in found}


def gather(
    names: list[str], exporters: list[str], workers: int, log: Path | None, dynamic: bool = False
) -> list[Outcome]:
    """All outcomes, in the order of `names`; those that `log` has are not measured again."""
    found = {name: outcome for name, outcome in read_log(log).items() if name in names}
    left = [name for name in names if name not in found]

    def share(index: int) -> None:
        for outcome in outcomes(left[index::workers], exporters, dynamic):
            found[outcome.name] = outcome
            if log is not None:
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(outcome)) + "\n")
            progress(f"{len(found)} of {len(names)}: {outcome.name}")

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(share, range(workers)))
    progress("")
    return [found[name] for name in names]


def _cell(outcome: Outcome, exporter: str) -> str:
    if outcome.passed(exporter):
        return f"{outcome.seconds[exporter]:.2f}"
    return "WRONG" if outcome.problems.get(exporter, "").startswith("WRONG") else "fails"


def summary(results: list[Outcome], exporters: list[str]) -> str:
    """How many pass with each exporter, and the geometric means of their times over ours."""
    lines = ["| exporter | passes and equals eager | wrong | fails | median s | time over ours, geometric mean |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for exporter in exporters:
        passed = [outcome for outcome in results if outcome.passed(exporter)]
        wrong = sum(outcome.problems.get(exporter, "").startswith("WRONG") for outcome in results)
        both = [o.seconds[exporter] / o.seconds[OURS] for o in passed if o.passed(OURS)]
        mean = f"{math.exp(statistics.fmean(map(math.log, both))):.1f}×" if both else "–"
        median = f"{statistics.median(o.seconds[exporter] for o in passed):.2f}" if passed else "–"
        failed = len(results) - len(passed) - wrong
        lines.append(
            f"| {exporter} | {len(passed)} of {len(results)} ({100 * len(passed) / max(1, len(results)):.1f} %) "
            f"| {wrong} | {failed} | {median} | {mean} |"
        )
    return "\n".join(lines)


def cause(problem: str) -> str:
    """What a problem is counted under: a refusal's id, WRONG, or the type of any other error."""
    kind, _, text = problem.partition(": ")
    refusal = re.match(r"\[([a-z-]+)\]", text)
    return f"refused: {refusal[1]}" if refusal else f"failed: {kind}"


def causes(results: list[Outcome], exporter: str) -> str:
    """The models that `exporter` does not pass, by cause, the most frequent one first."""
    found: dict[str, list[str]] = {}
    for outcome in results:
        if exporter in outcome.problems:
            found.setdefault(cause(outcome.problems[exporter]), []).append(outcome.name)
    lines = ["| cause | models | which |", "|---|---:|---|"]
    for name, models in sorted(found.items(), key=lambda row: (-len(row[1]), row[0])):
        lines.append(f"| {name} | {len(models)} | {', '.join(models)} |")
    return "\n".join(lines) if found else "None."


def static_sizes(results: list[Outcome]) -> str:
    """The models that make a size static themselves, and the line that does it."""
    lines = [f"| {o.name} | {o.static.replace('|', '/')} |" for o in results if o.static]
    return "\n".join(["| model | which size, and why |", "|---|---|", *lines]) if lines else "None."


def table(results: list[Outcome], exporters: list[str]) -> str:
    """One line per model; the reason is ours where we fail, else the first other exporter's."""
    lines = [f"| model | {' | '.join(exporters)} | why |", "|---|" + "---:|" * len(exporters) + "---|"]
    for outcome in results:
        why = next((f"{e}: {outcome.problems[e]}" for e in exporters if e in outcome.problems), "")
        cells = [outcome.name, *(_cell(outcome, exporter) for exporter in exporters), why.replace("|", "\\|")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="comma-separated names (default: all)")
    parser.add_argument("--exporters", default=",".join((OURS, STRICT, NON_STRICT)), help="comma-separated")
    parser.add_argument("--dynamic", action="store_true", help="a dynamic batch and length")
    parser.add_argument("--every", type=int, default=1, help="only each N-th model")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="keep the table in benchmarks/results")
    parser.add_argument("--log", type=Path, help="keep outcomes here as they come; go on from what is there")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    exporters = options.exporters.split(",")
    if unknown := set(exporters) - set(EXPORTERS):
        parser.error(f"unknown exporters {sorted(unknown)}; there are {list(EXPORTERS)}")
    if options.worker:
        work(options.worker.split(","), exporters, options.dynamic)
        return
    models = load(CORE, LONG)
    names = options.only.split(",") if options.only else list(models)[:: options.every]
    if missing := set(names) - set(models):
        parser.error(f"no models {sorted(missing)}")
    results = gather(names, exporters, options.workers, options.log, options.dynamic)
    words = [word for word in sys.argv[1:] if not word.startswith("--log") and word != str(options.log)]
    command = " ".join(["python -m tests.models.report", *words])
    title = "# Models with dynamic batch and length" if options.dynamic else "# Models"
    compared = "two inputs, and at other sizes" if options.dynamic else "two inputs"
    parts = [
        title, f"Command: `{command}`, {options.workers} workers; {date.today()}; {machine()}.\n"
        f"Seconds of the first export of each model; each program is compared with eager on {compared}.",
        summary(results, exporters), f"What {exporters[0]} does not pass, by cause:", causes(results, exporters[0]),
    ]  # fmt: skip
    if options.dynamic:
        parts += ["Sizes that the models make static:", static_sizes(results)]
    text = "\n\n".join([*parts, table(results, exporters)]) + "\n"
    print(text)
    if options.write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / ("models_dynamic.md" if options.dynamic else "models.md")).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
