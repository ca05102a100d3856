"""The first export of every model of the core and the long list, by each exporter, side by side.

    python benchmarks/long_list.py [--sample N] [--log FILE] [--models bert,vit] [--write]

A process that has exported a toy forks for each model; that process builds the model and forks once for each exporter,
which exports once. So each export is the first of its model and of its library. All 689 take over an hour; `--sample`
takes so many of them, drawn at random, the same at each time. `--log` appends each model's row to a file as it comes,
and skips those already there; `--write` keeps the table in benchmarks/results/long_list.md.
"""

from __future__ import annotations

import json
import logging
import math
import random
import statistics
import sys
import warnings
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.export_time import (
    EXPORTERS,
    NON_STRICT,
    OURS,
    RESULTS,
    STRICT,
    export_a_toy,
    geometric_mean,
    in_fork,
    machine,
    parser_of,
    progress,
    timed,
)
from benchmarks.time_limit import TimeIsUp, time_limit
from tests.models.registry import CORE, LONG, Case, Model, load

SECONDS_PER_EXPORT = 120


@dataclass
class First:
    """The first export of one model by each exporter: seconds, or why there is none."""

    name: str
    seconds: dict[str, float]
    refusals: dict[str, str]


def measure(model: Model) -> First:
    """Each export in a fork of this process, which has built the model only."""
    case = model.case()
    first = First(model.name, {}, {})
    for exporter in EXPORTERS:
        seconds, refusal = in_fork(_once, exporter, case)
        if refusal:
            first.refusals[exporter] = refusal
        else:
            first.seconds[exporter] = seconds
    return first


def _once(exporter: str, case: Case) -> tuple[float, str]:
    try:
        with time_limit(SECONDS_PER_EXPORT):
            timing = timed(exporter, case.module, case.inputs(0))
    except TimeIsUp as error:
        return math.nan, str(error)
    return timing.seconds, timing.refusal


def rows_of(models: dict[str, Model], log: Path | None) -> list[First]:
    """A row for each model, in their order; those that the log has are not measured again."""
    known = [json.loads(line) for line in log.read_text().splitlines()] if log is not None and log.exists() else []
    rows = {row["name"]: First(**row) for row in known}
    for number, (name, model) in enumerate(models.items(), 1):
        if name in rows:
            continue
        progress(f"{number} of {len(models)}: {name}")
        try:
            rows[name] = in_fork(measure, model)
        except RuntimeError as error:  # the process died: of memory, most likely
            rows[name] = First(name, {}, dict.fromkeys(EXPORTERS, str(error)))
        if log is not None:
            with log.open("a") as file:
                print(json.dumps(asdict(rows[name])), file=file)
    progress("")
    return [rows[name] for name in models if name in rows]


def _share(ratios: list[float]) -> str:
    """Quartiles and means of their time over ours."""
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{low:.1f}× | **{middle:.1f}×** | {high:.1f}× | {geometric_mean(ratios):.1f}×"


def _summary(rows: list[First]) -> str:
    lines = ["| exporter | takes | median s | models that both take | time over ours: lower quartile | median | "
             "upper quartile | geometric mean |", "|---|---:|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for exporter in EXPORTERS:
        taken = [row.seconds[exporter] for row in rows if exporter in row.seconds]
        both = [row.seconds[exporter] / row.seconds[OURS] for row in rows if {exporter, OURS} <= row.seconds.keys()]
        shares = "– | – | – | –" if exporter == OURS or len(both) < 2 else _share(both)
        middle = f"{statistics.median(taken):.3f}" if taken else "–"
        lines.append(f"| {exporter} | {len(taken)} | {middle} | {len(both)} | {shares} |")
    return "\n".join(lines)


def _table(rows: list[First]) -> str:
    lines = ["| model | ours | strict | non-strict | strict / ours | non-strict / ours |",
             "|---|---:|---:|---:|---:|---:|"]  # fmt: skip
    for row in rows:
        cells = [f"{row.seconds[e]:.2f}" if e in row.seconds else "–" for e in EXPORTERS]
        for exporter in (STRICT, NON_STRICT):
            both = {exporter, OURS} <= row.seconds.keys()
            cells.append(f"{row.seconds[exporter] / row.seconds[OURS]:.1f}×" if both else "–")
        lines.append(f"| {row.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def text_of(rows: list[First], count: int) -> str:
    """The file of results."""
    missing = "" if len(rows) == count else f" {len(rows)} of {count} models."
    return "\n".join([
        "# First exports of the long list of models, seconds", "",
        f"Command: `{' '.join(['python benchmarks/long_list.py', *sys.argv[1:]])}`; {date.today()}; {machine()}.",
        f"One export each, in a fork of a process that has exported a toy only and has built the model.{missing}",
        f"A dash: refused, failed, or not done in {SECONDS_PER_EXPORT} s.", "",
        _summary(rows), "", _table(rows), "",
    ])  # fmt: skip


def chosen_models(names: str | None, sample: int | None, seed: int = 0) -> tuple[dict[str, Model], int]:
    """The models of the core and the long list that a run is about, and of how many they were drawn."""
    models = load(CORE, LONG)
    if names:
        models = {name: models[name] for name in names.split(",")}
    listed = len(models)
    if sample:
        drawn = {*random.Random(seed).sample(sorted(models), sample)}
        models = {name: found for name, found in models.items() if name in drawn}
    return models, listed


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--log", type=Path, help="append each row to this file, and skip those already there")
    parser.add_argument("--sample", type=int, help="so many models, drawn at random with a fixed seed")
    options = parser.parse_args()
    if options.dynamic:
        parser.error("constant sizes only")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    models, listed = chosen_models(options.models, options.sample)
    export_a_toy()
    rows = rows_of(models, options.log)
    text = text_of(rows, listed)
    print(text)
    if options.write:
        (RESULTS / "long_list.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
