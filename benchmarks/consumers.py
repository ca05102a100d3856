"""Models × consumers of an ExportedProgram: our programs beside those of torch.export.export (its own defaults).

    python -m benchmarks.consumers [--models A] [--consumers B] [--exporters C] [--seconds 540]
        [--limit 120] [--again] [--write]

A cell is a process of its own (a fork) with a time limit: a crash or an endless loop is a result. Each cell that is
done is a line of build/consumers.jsonl, which the next call goes on from; `--write` makes the page of results of it.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib.metadata
import importlib.util
import json
import os
import select
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import dynamo_lite
from benchmarks.consumer_kinds import CONSUMERS, Consumer, Job, Made
from benchmarks.consumer_models import MODELS, Subject
from benchmarks.exporters import first_line

ROOT = Path(__file__).resolve().parent.parent
CELLS = ROOT / "build" / "consumers.jsonl"
RESULTS = ROOT / "benchmarks" / "results" / "consumers.md"
OURS, TORCH = "dynamo-lite", "torch.export"
EXPORTERS: Final[dict[str, Callable[..., Any]]] = {OURS: dynamo_lite.export, TORCH: torch.export.export}
EQUAL, CONVERTED, REFUSED = "equal", "converts", "not exported"
GOOD = (EQUAL, CONVERTED)
Cell = tuple[str, str, str]
"""Model, consumer, exporter."""
Outcome = tuple[str, str]
"""What came of it, and the first line of the error."""


class Refused(Exception):
    """The exporter did not take the module."""


def installed(consumer: Consumer) -> bool:
    return all(importlib.util.find_spec(package) for package in consumer.packages)


def measure(cell: Cell) -> Outcome:
    """Export, give to the consumer, run, compare with eager."""
    name, kind, exporter = cell
    torch.manual_seed(0)
    subject, consumer = MODELS[name](), CONSUMERS[kind]
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        job = Job(subject.module, _export(exporter, subject), subject.calls[0], Path(folder))
        try:
            made = consumer.make(job)
        except Refused as refusal:
            return REFUSED, str(refusal)
        except Exception as error:
            return "the consumer fails", first_line(error, 160)
        return _compared(made, subject, consumer.tolerance)


def _export(exporter: str, subject: Subject) -> Callable[[nn.Module], Any]:
    def export(module: nn.Module) -> Any:
        args, kwargs = subject.calls[0]()
        try:
            return EXPORTERS[exporter](module, args, kwargs, dynamic_shapes=subject.shapes)
        except Exception as error:
            raise Refused(first_line(error, 160)) from error

    return export


def _compared(made: Made, subject: Subject, tolerance: float) -> Outcome:
    if made.run is None:
        return CONVERTED, ""
    reference = copy.deepcopy(made.reference)
    for call in subject.calls:
        args, kwargs = call()
        try:
            given = _tensors(made.run(*args, **kwargs))
        except Exception as error:
            return "does not run", first_line(error, 160)
        args, kwargs = call()
        expected = _tensors(reference(*args, **kwargs))
        if [t.shape for t in given] != [t.shape for t in expected]:
            return "other shapes", f"{[list(t.shape) for t in given]}, not {[list(t.shape) for t in expected]}"
        worst = max(_error(a, b) for a, b in zip(given, expected, strict=True))
        if not worst <= tolerance:
            return "other values", f"the error is {worst:.2g} of the largest value"
    return EQUAL, ""


def _tensors(results: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(results) if isinstance(leaf, Tensor)]


def _error(given: Tensor, expected: Tensor) -> float:
    difference = (given.double() - expected.double()).abs().max()
    return float(difference / expected.double().abs().max().clamp(min=1e-6))


def in_process(cell: Cell, limit: float) -> Outcome:
    """`measure` in a fork that has `limit` seconds, its compilers included."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            outcome = measure(cell)
        except BaseException as error:
            outcome = ("the benchmark fails", first_line(error, 160))
        os.write(writer, json.dumps(outcome).encode())
        os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], limit)
    text = os.read(reader, 1 << 16) if ready else b""
    os.close(reader)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if text:
        what, why = json.loads(text)
        return what, why
    if not ready:
        return "out of time", f"more than {limit:.0f} s"
    return "crashed", f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {status}"


def cells(models: list[str], consumers: list[str], exporters: list[str]) -> Iterator[Cell]:
    """Those of the consumers that are installed, a consumer at a time."""
    for kind in consumers:
        if installed(CONSUMERS[kind]):
            for name in models:
                for exporter in exporters:
                    yield name, kind, exporter


def done() -> dict[Cell, Outcome]:
    """What the file of cells holds; the last line of a cell counts."""
    found: dict[Cell, Outcome] = {}
    for line in CELLS.read_text().splitlines() if CELLS.exists() else []:
        name, kind, exporter, what, why = json.loads(line)
        found[name, kind, exporter] = what, why
    return found


def run(wanted: list[Cell], seconds: float, limit: float) -> None:
    """Measure until the time is over; what is left is for the next call."""
    end = time.monotonic() + seconds
    CELLS.parent.mkdir(exist_ok=True)
    for cell in wanted:
        if time.monotonic() + limit > end:
            print("out of time: call again")
            return
        start = time.monotonic()
        for module in CONSUMERS[cell[1]].imports:
            with contextlib.suppress(Exception):  # the cell says what is wrong with it
                importlib.import_module(module)
        outcome = in_process(cell, limit)
        with CELLS.open("a") as file:
            file.write(json.dumps([*cell, *outcome]) + "\n")
        print(*cell, *outcome, f"{time.monotonic() - start:.1f} s", sep=" | ", flush=True)


def report(found: dict[Cell, Outcome]) -> str:
    kinds = [kind for kind in CONSUMERS if installed(CONSUMERS[kind])]
    lines = ["# Models × consumers", "", *_introduction(found, kinds), "", *_table(found, kinds), ""]
    return "\n".join([*lines, *_measured_apart(), "## What is not equal", "", *_failures(found)]) + "\n"


def _measured_apart() -> list[str]:
    """The part of the page that is written by hand: consumers and models that need packages of their own."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    starts = [number for number, line in enumerate(lines) if line == "## Measured apart"]
    ends = [number for number, line in enumerate(lines) if line == "## What is not equal"]
    return lines[starts[0] : ends[0]] if starts and ends else []


def _introduction(found: dict[Cell, Outcome], kinds: list[str]) -> list[str]:
    packages = dict.fromkeys(package for kind in kinds for package in CONSUMERS[kind].packages)
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("torch", "transformers", *packages)]
    missing = [kind for kind in CONSUMERS if kind not in kinds]
    counts = {
        exporter: sum(found.get((name, kind, exporter), ("", ""))[0] in GOOD for name in MODELS for kind in kinds)
        for exporter in EXPORTERS
    }
    cells_each = len(MODELS) * len(kinds)
    return [
        f"Of {cells_each} cells good: {', '.join(f'{who} {count}' for who, count in counts.items())}. A cell is"
        " `dynamo-lite / torch.export`: ✓ equal to eager (a second call with other values, or other sizes where the"
        " model is dynamic; PT2E near the float model), c converts (it cannot be run on this system), – not exported,"
        " F the consumer fails or runs differently, ? not run.",
        "",
        f"{', '.join(versions)}; torch.export.export with its defaults (strict=False),"
        f" containers not registered by hand. Not installed, so not run:"
        f" {', '.join(missing) or 'none of the list'}.",
        "",
        "Written by `python -m benchmarks.consumers --write` (`pip install dynamo-lite[consumers,downstream,models]`);"
        " each cell in a process of its own with a time limit.",
    ]


def _table(found: dict[Cell, Outcome], kinds: list[str]) -> list[str]:
    rows = [f"| model | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
    for name in MODELS:
        marks = [" / ".join(_mark(found.get((name, kind, who))) for who in EXPORTERS) for kind in kinds]
        rows.append(f"| {name} | {' | '.join(marks)} |")
    return rows


def _mark(outcome: Outcome | None) -> str:
    if outcome is None:
        return "?"
    return {EQUAL: "✓", CONVERTED: "c", REFUSED: "–"}.get(outcome[0], "F")


def _failures(found: dict[Cell, Outcome]) -> list[str]:
    rows = ["| model | consumer | dynamo-lite | torch.export |", "|---|---|---|---|"]
    for name in MODELS:
        for kind in CONSUMERS:
            both = [found.get((name, kind, who), ("not run", "")) for who in EXPORTERS]
            if any(what not in (*GOOD, "not run") for what, _ in both):
                shown = " | ".join(what + (f": {_tidy(why)}" if why else "") for what, why in both)
                rows.append(f"| {name} | {kind} | {shown} |")
    return rows


def _tidy(why: str) -> str:
    """Without the places of this machine, and without what a table or a page would take for markup."""
    words = (word.rsplit("/", 1)[-1] if word.count("/") > 1 else word for word in why.split())
    return " ".join(words).replace("|", "/").replace("<", "&lt;")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="", help="those whose names hold this")
    parser.add_argument("--consumers", default="", help="those whose names hold this")
    parser.add_argument("--exporters", default="", help="those whose names hold this")
    parser.add_argument("--seconds", type=float, default=540, help="begin no cell that might end later than this")
    parser.add_argument("--limit", type=float, default=120, help="seconds for a cell")
    parser.add_argument("--again", action="store_true", help="measure cells again that are not equal")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    chosen = cells(
        [name for name in MODELS if options.models in name],
        [kind for kind in CONSUMERS if options.consumers in kind],
        [exporter for exporter in EXPORTERS if options.exporters in exporter],
    )
    known = done()
    if options.again:
        known = {cell: outcome for cell, outcome in known.items() if outcome[0] in GOOD}
    run([cell for cell in chosen if cell not in known], options.seconds, options.limit)
    if options.write:
        RESULTS.write_text(report(done()))


if __name__ == "__main__":
    main()
