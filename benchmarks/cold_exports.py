"""The first export of a model, side by side: the cold half of export_time.py, which takes a third of its time.

    python benchmarks/cold_exports.py [--dynamic] [--models bert,vit] [--write]

Each export is made in a fork of a process that has exported a toy only; the exporters take turns; the median of three.
`--write` keeps the table in benchmarks/results/cold_exports.md (cold_exports_dynamic.md), after each model.
"""

from __future__ import annotations

import math
import sys
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
    Row,
    chosen_models,
    example,
    export_a_toy,
    first_of_process,
    geometric_mean,
    machine,
    measure_cold,
    parser_of,
    ratios,
)


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


def text_of(rows: dict[str, Row], count: int, dynamic: bool, first: str) -> str:
    """The file of results, whole or of the models so far."""
    missing = "" if len(rows) == count else f" The first {len(rows)} of {count} models."
    return "\n".join([
        f"# First exports{' with dynamic batch and length' if dynamic else ''}, seconds", "",
        f"Command: `{' '.join(['python benchmarks/cold_exports.py', *sys.argv[1:]])}`; {machine()}.",
        f"The first export of a model in a process that has exported a toy only; median of {COLD_RUNS} forks.{missing}",
        "",
        table(rows), "", first, "",
    ])  # fmt: skip


def main() -> None:
    options = parser_of(__doc__).parse_args()
    models, chosen = chosen_models(options.models)
    shapes = example(models[FIRST_OF_PROCESS].case())[1] if options.dynamic else None
    seconds = ", ".join(f"{exporter} {first_of_process(exporter, shapes):.3f}" for exporter in EXPORTERS)
    first = f"First export of a fresh process ({FIRST_OF_PROCESS}, the exporter's imports included): {seconds}."
    export_a_toy()
    file = RESULTS / f"cold_exports{'_dynamic' if options.dynamic else ''}.md"
    rows: dict[str, Row] = {}
    for name in chosen:
        rows[name] = measure_cold(models[name], options.dynamic)
        rows[name].pop("ours, constant sizes", None)
        if options.write:
            file.write_text(text_of(rows, len(chosen), options.dynamic, first), encoding="utf-8")
    print(text_of(rows, len(chosen), options.dynamic, first))


if __name__ == "__main__":
    main()
