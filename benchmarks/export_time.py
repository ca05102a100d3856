"""Export time of dynamo-lite, torch.export strict and torch.export non-strict, side by side in one process.

    python benchmarks/export_time.py [--runs 5] [--models bert,vit] [--dynamic] [--write]

For each model: the first export in a process that has exported a toy only (cold: a fork for each exporter, the median
of three), then the median of further exports of the same module (warm), the exporters taking turns so that a busy
machine slows all alike; and the Python calls of our export for each node of its graph. `--write` keeps the table in
benchmarks/results/export_time.md. The very first export of a process, which also pays for the exporter's imports and
caches, is measured in a fresh process for each exporter.
"""

from __future__ import annotations

import argparse
import logging
import math
import os
import pickle
import statistics
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads do not outlive a fork

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.exporters import (  # noqa: E402
    EXPORTERS,
    NON_STRICT,
    OURS,
    STRICT,
    machine,
    progress,
    python_calls,
    timed,
    toy,
)
from benchmarks.fresh_processes import FreshProcesses  # noqa: E402
from tests.models.dynamic import batch_axis, dynamic_shapes, length_axis, resized  # noqa: E402
from tests.models.registry import CORE, Case, Inputs, Model, load  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
OURS_STATIC = "ours, constant sizes"
FIRST_OF_PROCESS = "gpt_12"
COLD_RUNS = 3


@dataclass
class Measured:
    """Seconds for one model and one exporter; `refusal` says why there are none."""

    colds: list[float] = field(default_factory=list)
    calls: tuple[float, float] = (math.nan, math.nan)  # Python calls for each node, cold and warm
    warm: list[float] = field(default_factory=list)
    refusal: str = ""

    @property
    def cold(self) -> float:
        return statistics.median(self.colds) if self.colds else math.nan

    @property
    def median(self) -> float:
        return statistics.median(self.warm) if self.warm else math.nan


Row = dict[str, Measured]


def measure_cold(model: Model, dynamic: bool) -> Row:
    """Time the first export of the model, each in a fork of this process, the exporters taking turns."""
    exporters = _exporters(dynamic)
    case = model.case()
    row = {exporter: Measured() for exporter in exporters}
    for _ in range(COLD_RUNS):
        for exporter, with_shapes in exporters.items():
            progress(f"{model.name}: {exporter}, cold")
            seconds, refusal = in_fork(_once, exporter, case, with_shapes)
            if not refusal:  # it may be taken in a process in which another exporter has registered a container
                row[exporter].colds.append(seconds)
    row[OURS].calls = in_fork(python_calls_per_node, case, dynamic)
    return row


def measure_warm(row: Row, model: Model, runs: int, dynamic: bool) -> None:
    """Time further exports in this process, of a copy of the model for each exporter (built alike, seeded alike)."""
    exporters = _exporters(dynamic)
    cases = {exporter: model.case() for exporter in exporters}
    for turn in range(runs + 1):
        for exporter, case in cases.items():
            measured = row[exporter]
            if measured.refusal:
                continue
            progress(f"{model.name}: {exporter}, run {turn} of {runs}")
            seconds, measured.refusal = _once(exporter, case, exporters[exporter])
            if measured.refusal:
                measured.colds.clear()
            elif turn > 0:
                measured.warm.append(seconds)


def _exporters(dynamic: bool) -> dict[str, bool]:
    """Whether each exporter is given dynamic shapes."""
    return {**dict.fromkeys(EXPORTERS, dynamic), **({OURS_STATIC: False} if dynamic else {})}


def _once(exporter: str, case: Case, dynamic: bool) -> tuple[float, str]:
    """(seconds, why it is refused) of one export."""
    inputs, shapes = example(case) if dynamic else (case.inputs(0), None)
    timing = timed(OURS if exporter == OURS_STATIC else exporter, case.module, inputs, shapes)
    return timing.seconds, timing.refusal


def python_calls_per_node(case: Case, dynamic: bool) -> tuple[float, float]:
    inputs, shapes = example(case) if dynamic else (case.inputs(0), None)
    try:
        cold, warm = (python_calls(OURS, case.module, inputs, shapes) for _ in range(2))
    except Exception:  # a refusal, which measure_warm reports
        return math.nan, math.nan
    program = timed(OURS, case.module, inputs, shapes).program
    nodes = len(program.graph.nodes) if program else math.nan
    return cold / nodes, warm / nodes


def in_fork(function: Callable[..., Any], *args: Any) -> Any:
    """What the function returns in a fork of this process, which stays as it is."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(function(*args), pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    if not content:
        raise RuntimeError("the fork of this process failed")
    return pickle.loads(content)


def export_a_toy() -> None:
    """The toy, by each exporter."""
    for exporter in EXPORTERS:
        timed(exporter, *toy())


def example(case: Case) -> tuple[Inputs, Any]:
    """Inputs with a batch of at least two, and which of their sizes are dynamic."""
    batch, length = batch_axis(case), length_axis(case)
    assert batch is not None
    inputs = resized(case, batch, 2)(0) if batch.size < 2 else case.inputs(0)
    return inputs, dynamic_shapes(case, *(axis for axis in (batch, length) if axis is not None))


def first_of_process(exporter: str, dynamic: bool) -> float:
    """Seconds of the first export of a fresh process (imports of torch and of the model done, the exporter's not)."""
    dynamic_example = example(load(CORE)[FIRST_OF_PROCESS].case()) if dynamic else None
    with FreshProcesses() as processes:  # one before those that are measured, which compiles
        runs = [processes.export(exporter, FIRST_OF_PROCESS, dynamic_example, False) for _ in range(1 + COLD_RUNS)]
    return statistics.median(math.nan if refusal else seconds for seconds, refusal in runs[1:])


def geometric_mean(ratios: list[float]) -> float:
    """NaN for no ratios."""
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan


def _seconds(value: float) -> str:
    return "refused" if math.isnan(value) else f"{value:.3f}"


def _ratio(theirs: float, ours: float) -> str:
    return "–" if math.isnan(theirs) or math.isnan(ours) else f"{theirs / ours:.1f}×"


def ratios(rows: dict[str, Row], exporter: str, cold: bool) -> list[float]:
    """Their time over ours, for each model that both export."""
    pairs = [(r[exporter].cold, r[OURS].cold) if cold else (r[exporter].median, r[OURS].median) for r in rows.values()]
    return [theirs / ours for theirs, ours in pairs if not math.isnan(theirs) and not math.isnan(ours)]


def table(rows: dict[str, Row]) -> str:
    """The measurements as markdown: medians and ratios, cold calls, geometric means, refusals."""
    with_static = any(OURS_STATIC in row for row in rows.values())
    head = ["model", "ours", "strict", "non-strict", "strict / ours", "non-strict / ours"]
    head += ["ours / ours with constant sizes"] if with_static else []
    head += ["cold: ours", "strict", "non-strict", "strict / ours", "non-strict / ours"]
    head += ["Python calls per node, cold", "warm"]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    for name, row in rows.items():
        cells = [name]
        for times in ({e: m.median for e, m in row.items()}, {e: m.cold for e, m in row.items()}):
            cells += [_seconds(times[exporter]) for exporter in EXPORTERS]
            cells += [_ratio(times[exporter], times[OURS]) for exporter in (STRICT, NON_STRICT)]
            if with_static and len(cells) == 6:
                cells.append(_ratio(times[OURS], times[OURS_STATIC]))
        cells += [f"{calls:.0f}" for calls in row[OURS].calls]
        lines.append(f"| {' | '.join(cells)} |")
    means = [
        [f"**{geometric_mean(ratios(rows, e, cold)):.1f}×**" for e in (STRICT, NON_STRICT)] for cold in (False, True)
    ]
    if with_static:
        pairs = [(row[OURS].median, row[OURS_STATIC].median) for row in rows.values()]
        slower = [ours / static for ours, static in pairs if not math.isnan(ours) and not math.isnan(static)]
        means[0].append(f"**{geometric_mean(slower):.1f}×**")
    lines.append(f"| **geometric mean** | | | | {' | '.join(means[0])} | | | | {' | '.join(means[1])} | | |")
    refused = [f"- {name}, {e}: {m.refusal}" for name, row in rows.items() for e, m in row.items() if m.refusal]
    return "\n".join([*lines, "", *(["Refused:", "", *refused] if refused else ["Nothing was refused."])])


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """The options of the benchmarks of export time."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--models", default="", help="comma-separated names (default: the core list)")
    parser.add_argument("--dynamic", action="store_true", help="a dynamic batch and length")
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.relative_to(ROOT)}")
    return parser


def chosen_models(names: str) -> tuple[dict[str, Model], list[str]]:
    """(all core models, the names that are asked for). Warnings and logs are off from here on."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    models = load(CORE)
    return models, names.split(",") if names else list(models)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=5, help="warm runs per model and exporter")
    options = parser.parse_args()
    models, chosen = chosen_models(options.models)
    export_a_toy()
    rows = {name: measure_cold(models[name], options.dynamic) for name in chosen}  # before the process knows them
    for name, row in rows.items():
        measure_warm(row, models[name], options.runs, options.dynamic)
    first = []
    for exporter in EXPORTERS:
        progress(f"first export of a process: {exporter}")
        first.append(f"{exporter} {_seconds(first_of_process(exporter, options.dynamic))}")
    progress("")
    command = " ".join(["python benchmarks/export_time.py", *sys.argv[1:]])
    text = "\n".join([
        f"# Export time{' with dynamic batch and length' if options.dynamic else ''}, seconds", "",
        f"Command: `{command}`; {machine()}.",
        f"Warm: median of {options.runs} runs; cold: the first export of a model in a process that has exported "
        f"a toy only (median of {COLD_RUNS} forks).", "",
        table(rows), "",
        f"First export of a fresh process ({FIRST_OF_PROCESS}, seconds): {', '.join(first)}.", "",
    ])  # fmt: skip
    print(text)
    if options.write:
        RESULTS.mkdir(exist_ok=True)
        name = "export_time_dynamic.md" if options.dynamic else "export_time.md"
        (RESULTS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
