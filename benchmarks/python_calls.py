"""How many Python functions one export calls: a figure of speed that a busy machine cannot change.

    python benchmarks/python_calls.py [--models bert,llama] [--top 25] [--write]

For each model: the calls of the first export of a module that never ran (cold) and those of a second export of the same
module (warm), in all and per node of the program, as `sys.setprofile` counts them (calls of Python functions; resumed
generators count each time; the interpreted program's own frames are no calls of CPython). A toy is exported before, so
that the process has made its tables. `--top` lists the functions that the warm export calls most. `--write` keeps the
table in benchmarks/results/python_calls.md.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections import Counter
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.exporters import first_line, machine, progress  # noqa: E402
from dynamo_lite import export  # noqa: E402
from tests.models.registry import CORE, Inputs, load  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
LIBRARY = Path(torch.__file__).parent.parent


class Counted(NamedTuple):
    """One export: the calls of each code object, and the nodes of the program."""

    calls: Counter[CodeType]
    nodes: int

    @property
    def total(self) -> int:
        return self.calls.total()

    @property
    def per_node(self) -> float:
        return self.total / self.nodes


def count(module: torch.nn.Module, inputs: Inputs) -> Counted:
    """Export once under a profiling function. Raises what the export raises."""
    calls: Counter[CodeType] = Counter()

    def on_event(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            calls[frame.f_code] += 1

    args, kwargs = inputs
    sys.setprofile(on_event)
    try:
        program = export(module, args, kwargs, strict=True)
    finally:
        sys.setprofile(None)
    return Counted(calls, len(program.graph.nodes))


def spelled(code: CodeType) -> str:
    """A function in words: its file (below the repository or site-packages) and its name."""
    path = Path(code.co_filename)
    root = next((root for root in (ROOT, LIBRARY) if path.is_relative_to(root)), None)
    return f"{path.relative_to(root) if root else path.name}:{code.co_firstlineno} {code.co_qualname}"


def warm_up() -> None:
    """Export a toy: imports and tables are made now."""
    toy = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    export(toy, (torch.randn(2, 3),), strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--models", default="", help="comma-separated names (default: the core list)")
    parser.add_argument("--top", type=int, default=0, help="list this many functions of the warm export")
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.relative_to(ROOT)}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    models = load(CORE)
    warm_up()
    lines = ["| model | nodes | cold | per node | warm | per node |", "|---|" + "---:|" * 5]
    for name in options.models.split(",") if options.models else list(models):
        progress(name)
        case = models[name].case()
        try:
            cold, warm = (count(case.module, case.inputs(0)) for _ in range(2))
        except Exception as error:  # a model that export refuses: that is a result here, and is shown as one
            lines.append(f"| {name} | {first_line(error)} | | | | |")
            continue
        figures = f"{cold.total:,} | {cold.per_node:,.0f} | {warm.total:,} | {warm.per_node:,.0f}"
        lines.append(f"| {name} | {warm.nodes} | {figures} |")
        for code, number in warm.calls.most_common(options.top):
            print(f"{number:9,}  {spelled(code)}")
    progress("")
    command = " ".join(["python benchmarks/python_calls.py", *(a for a in sys.argv[1:] if a != "--write")])
    head = ["# Calls of Python functions per export", "", f"Command: `{command}`; {machine()}.", ""]
    text = "\n".join([*head, *lines, ""])
    print(text)
    if options.write:
        (RESULTS / "python_calls.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
