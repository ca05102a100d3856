"""The figures of the README and the documentation, drawn from the tables of benchmarks/results.

    python -m benchmarks.figures

Writes docs/figures/export_time.svg: the first export of each model of the long list (long_list.md), torch.export's time
over ours. The same table gives the same file.
"""

from __future__ import annotations

import re
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.export_time import RESULTS

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


if __name__ == "__main__":
    main()
