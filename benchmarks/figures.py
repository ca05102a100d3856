"""The figures of the README and the documentation, drawn from the tables of benchmarks/results.

    python -m benchmarks.figures

Writes docs/figures: export_time.svg, the first export of each model of the long list (long_list.md), torch.export's
time over ours; study_classes.svg and study_sizes.svg of docs/study.md. The same table gives the same file.
"""

from __future__ import annotations

import re
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.result_tables import RESULTS, tables

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
_ROW = re.compile(
    r"^\| (?P<model>\w+) \| (?P<ours>[\d.]+) \| (?P<strict>[\d.]+|–) \| (?P<other>[\d.]+|–) \|", re.MULTILINE
)
_MADE = re.compile(r"; (?P<date>\d{4}-\d\d-\d\d); (?P<machine>[^;\n]+)")


def times_of(table: str) -> dict[str, list[tuple[float, float]]]:
    """Exporter → (our seconds, its seconds) of each model that both take."""
    found: dict[str, list[tuple[float, float]]] = {"torch.export, strict": [], "torch.export, non-strict": []}
    for row in _ROW.finditer(table):
        for exporter, seconds in zip(found, (row["strict"], row["other"])):
            if seconds != "–":
                found[exporter].append((float(row["ours"]), float(seconds)))
    return found


def label_of(exporter: str, times: list[tuple[float, float]]) -> str:
    """The row of the legend."""
    ratio = statistics.median(theirs / ours for ours, theirs in times)
    return f"{exporter}: {ratio:.1f} times as long (median of {len(times)})"


def export_time(table: str, path: Path) -> None:
    """Draw the times of long_list.md, both axes in seconds."""
    pyplot: Any = _pyplot()
    figure, axes = pyplot.subplots(figsize=(6.6, 4.2), layout="constrained")
    for (exporter, times), colour in zip(times_of(table).items(), ("#0550ae", "#c2570c")):
        axes.scatter(*zip(*times), s=7, alpha=0.6, color=colour, linewidths=0, label=label_of(exporter, times))
    axes.axline((0.1, 0.1), slope=1, color="#57606a", linewidth=1, label="as long")
    axes.axline((0.1, 1), slope=1, color="#57606a", linewidth=1, linestyle=":", label="ten times as long")
    axes.set(xscale="log", yscale="log")
    axes.set(xlabel="dynamo-lite, seconds", ylabel="torch.export, seconds", title="First export of a model")
    made = _MADE.search(table)
    if made is not None:
        axes.text(0.99, 0.01, f"{made['machine']}; {made['date']}", transform=axes.transAxes, ha="right", fontsize=7)
    axes.legend(loc="upper left", fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def study() -> None:
    """Draw the figures of docs/study.md."""
    study_classes(FIGURES / "study_classes.svg")
    study_sizes((RESULTS / "shape_reasoning.md").read_text(encoding="utf-8"), FIGURES / "study_sizes.svg")


def cells_of_study() -> list[list[str]]:
    """A row a tracer, a cell a class: programs answered wrongly of those that are answered or wrong."""
    from benchmarks import study as data

    cells = []
    for tracer in data.TRACERS:
        found = [data.counts(tracer, kind) for kind in data.classes()]
        cells.append([f"{each['wrong']} of {each.total()}" for each in found])
    return cells


def study_classes(path: Path) -> None:
    """A table whose cells are the darker the more programs of the class a tracer gets wrong."""
    from benchmarks import study as data

    pyplot: Any = _pyplot()
    cells, kinds = cells_of_study(), [kind.replace("_", " ") for kind in data.classes()]
    shares = [[int(cell.split()[0]) / int(cell.split()[2]) for cell in row] for row in cells]
    figure, axes = pyplot.subplots(figsize=(8, 3.4), layout="constrained")
    axes.imshow(shares, cmap="Oranges", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(kinds)), kinds, fontsize=8)
    axes.set_yticks(range(len(cells)), data.TRACERS, fontsize=8)
    for y, row in enumerate(cells):
        for x, cell in enumerate(row):
            colour = "white" if shares[y][x] > 0.6 else "black"
            axes.text(x, y, cell, ha="center", va="center", fontsize=8, color=colour)
    stamp = data.stamp()
    axes.set_title(f"Programs answered wrongly, by class; torch {stamp['torch']}, {stamp['date']}", fontsize=9)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def decided_sizes(table: str) -> dict[str, tuple[float, float]]:
    """Family of queries → per cent that ours and torch's decide, of those that can be decided."""
    (found,) = (each for each in tables(table) if "decidable" in each["columns"])
    share = found["columns"].index("share")
    shares = {row[0].replace("**", ""): float(row[share].rstrip("%")) for row in found["rows"]}
    families = [name.removesuffix(", ours") for name in shares if name.endswith(", ours")]
    return {family: (shares[f"{family}, ours"], shares[f"{family}, torch"]) for family in families}


def study_sizes(table: str, path: Path) -> None:
    """Bars: what of the decidable questions about sizes is decided, by family."""
    pyplot: Any = _pyplot()
    found = dict(reversed(decided_sizes(table).items()))
    figure, axes = pyplot.subplots(figsize=(7, 5), layout="constrained")
    for offset, colour, label, values in (
        (0.2, "#0550ae", "dynamo-lite", [ours for ours, _ in found.values()]),
        (-0.2, "#c2570c", "torch's ShapeEnv", [theirs for _, theirs in found.values()]),
    ):
        bars = axes.barh([y + offset for y in range(len(found))], values, 0.4, color=colour, label=label)
        axes.bar_label(bars, [f"{value:g} %" for value in values], fontsize=6, padding=2)
    axes.set_yticks(range(len(found)), found, fontsize=8)
    axes.set(xlim=(0, 112), xlabel="decided, per cent of the decidable questions")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.08), ncols=2, fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _pyplot() -> Any:
    """matplotlib without a display; texts stay texts, and the same data give the same file."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "dynamo-lite", "svg.fonttype": "none", "axes.spines.top": False})
    matplotlib.rcParams.update({"axes.spines.right": False, "font.family": "sans-serif", "figure.facecolor": "white"})
    from matplotlib import pyplot

    return pyplot


def main() -> None:
    FIGURES.mkdir(exist_ok=True)
    export_time((RESULTS / "long_list.md").read_text(encoding="utf-8"), FIGURES / "export_time.svg")
    study()


if __name__ == "__main__":
    main()
