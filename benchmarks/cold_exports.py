"""The first export of a model, side by side, as a user makes it: in a process that has exported a toy only.

    python benchmarks/cold_exports.py [--dynamic] [--models bert,vit] [--runs 3] [--forks] [--write]

Each export is made in a process of its own; the exporters take turns; the median of three. All take over half an hour.
`--forks` takes a fifth of that: forks of one process, which pay for copying each page of memory that they touch.
`--write` keeps the table in benchmarks/results/cold_exports.md (cold_exports_dynamic.md), after each model.
"""

from __future__ import annotations

import math
import sys
from argparse import Namespace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.export_time import (
    COLD_RUNS,
    EXPORTERS,
    FIRST_OF_PROCESS,
    NON_STRICT,
    OURS,
    RESULTS,
    STRICT,
    Measured,
    Row,
    chosen_models,
    example,
    export_a_toy,
    first_of_process,
    geometric_mean,
    in_fork,
    machine,
    measure_cold,
    parser_of,
    progress,
    python_calls_per_node,
    ratios,
)
from benchmarks.fresh_processes import FreshProcesses
from tests.models.registry import Model


def measure_fresh(processes: FreshProcesses, model: Model, dynamic: bool, runs: int) -> Row:
    """Time first exports of the model, each in a process of its own, the exporters taking turns."""
    row = {exporter: Measured() for exporter in EXPORTERS}
    case = model.case()
    dynamic_example = example(case) if dynamic else None
    for _ in range(runs):
        for exporter, measured in row.items():
            progress(f"{model.name}: {exporter}")
            seconds, refusal = processes.export(exporter, model.name, dynamic_example, True)
            if not refusal:
                measured.colds.append(seconds)
    row[OURS].calls = in_fork(python_calls_per_node, case, dynamic)
    return row


def table(rows: dict[str, Row]) -> str:
    """Seconds and ratios as markdown; a dash where an exporter refuses the model."""
    lines = ["| model | ours | strict | non-strict | strict / ours | non-strict / ours | Python calls per node |",
             "|---|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for name, row in rows.items():
        seconds = [row[exporter].cold for exporter in EXPORTERS]
        pairs = [row[exporter].cold / row[OURS].cold for exporter in (STRICT, NON_STRICT)]
        cells = ["–" if math.isnan(value) else f"{value:.3f}" for value in seconds]
        cells += ["–" if math.isnan(value) else f"{value:.1f}×" for value in pairs]
        lines.append(f"| {name} | {' | '.join(cells)} | {row[OURS].calls[0]:.0f} |")
    means = [f"**{geometric_mean(ratios(rows, exporter, True)):.1f}×**" for exporter in (STRICT, NON_STRICT)]
    return "\n".join([*lines, f"| **geometric mean** | | | | {' | '.join(means)} | |"])


def text_of(rows: dict[str, Row], count: int, options: Namespace, first: str) -> str:
    """The file of results, whole or of the models so far."""
    processes = f"median of {options.runs} {'forks' if options.forks else 'processes of their own'}"
    if options.runs == 1:
        processes = "one process each"
    missing = "" if len(rows) == count else f" The first {len(rows)} of {count} models."
    return "\n".join([
        f"# First exports{' with dynamic batch and length' if options.dynamic else ''}, seconds", "",
        f"Command: `{' '.join(['python benchmarks/cold_exports.py', *sys.argv[1:]])}`; {machine()}.",
        f"The first export of a model in a process that has exported a toy only; {processes}."
        f"{missing}", "",
        table(rows), "", first, "",
    ])  # fmt: skip


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--forks", action="store_true", help="in forks of one process: quicker, slows short exports")
    parser.add_argument("--runs", type=int, default=COLD_RUNS, help="first exports of each model by each exporter")
    options = parser.parse_args()
    if options.forks and options.runs != COLD_RUNS:
        parser.error(f"--forks are {COLD_RUNS}")
    models, chosen = chosen_models(options.models)
    seconds = ", ".join(f"{exporter} {first_of_process(exporter, options.dynamic):.3f}" for exporter in EXPORTERS)
    first = f"First export of a fresh process ({FIRST_OF_PROCESS}, the exporter's imports included): {seconds}."
    export_a_toy()
    file = RESULTS / f"cold_exports{'_dynamic' if options.dynamic else ''}.md"
    rows: dict[str, Row] = {}
    with FreshProcesses() as processes:
        for name in chosen:
            if options.forks:
                rows[name] = measure_cold(models[name], options.dynamic)
                rows[name].pop("ours, constant sizes", None)
            else:
                rows[name] = measure_fresh(processes, models[name], options.dynamic, options.runs)
            if options.write:
                file.write_text(text_of(rows, len(chosen), options, first), encoding="utf-8")
    print(text_of(rows, len(chosen), options, first))


if __name__ == "__main__":
    main()
