"""Steps of training as one program: which tracer takes them, and the time of one step.

    python benchmarks/training_step.py [--steps 30] [--models GPT2 ...] [--write]

The ten models of tests/features/training/models.py. `--write` keeps the table in benchmarks/results/training_step.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.exporters import machine, progress  # noqa: E402
from dynamo_lite import export  # noqa: E402
from tests.features.training.models import STEPS  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "training_step.md"
ABOUT = """\
One process, one thread. "export": seconds of dynamo_lite.export of a step with a fresh optimizer, the first of the
process for that model. "eager", "program", "compiled": milliseconds of a step, median; program is `program.module()`,
compiled is torch.compile(fullgraph=True) with inductor, after its compilation ("no": it stops at a graph break).
torch.export: strict, and strict=False."""


def seed_and_make(name: str) -> Any:
    torch.manual_seed(0)
    return STEPS[name][0]()


def median_ms(call: Callable[..., Any], inputs: Callable[[int], tuple[Any, ...]], steps: int) -> float:
    """Milliseconds of one call; the first three are not counted."""
    measured = []
    for number in range(steps + 3):
        given = inputs(number)
        start = time.perf_counter()
        call(*given)
        measured.append((time.perf_counter() - start) * 1000)
    return statistics.median(measured[3:])


def attempt(call: Callable[[], Any]) -> str:
    """What a call gives, as a cell of the table: "no" and the class of its error if it raises one."""
    try:
        return str(call())
    except Exception as error:  # another tracer may raise anything
        return f"no ({type(error).__name__})"


def row(name: str, steps: int) -> list[str]:
    inputs = STEPS[name][1]
    module = seed_and_make(name)
    start = time.perf_counter()
    program = export(module, inputs(0))
    seconds = time.perf_counter() - start
    eager = median_ms(seed_and_make(name), inputs, steps)
    ours = median_ms(program.module(), inputs, steps)

    def exported(strict: bool) -> str:
        torch.export.export(seed_and_make(name), inputs(0), strict=strict)
        return "yes"

    def compiled() -> str:
        torch._dynamo.reset()
        step = torch.compile(seed_and_make(name), fullgraph=True)
        return f"{median_ms(step, inputs, steps):.2f}"

    cells = [attempt(lambda: exported(True)), attempt(lambda: exported(False)), attempt(compiled)]
    return [name, str(len(program.graph.nodes)), f"{seconds:.2f}", f"{eager:.2f}", f"{ours:.2f}", *cells]


HEAD = ["step", "nodes", "export (s)", "eager (ms)", "program (ms)", "torch.export", "strict=False", "compiled (ms)"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--models", nargs="*", default=[*STEPS])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in options.models:
        progress(f"{name} ...")
        rows.append(row(name, options.steps))
    progress("")
    lines = [f"| {' | '.join(cells)} |" for cells in [HEAD, ["---"] * len(HEAD), *rows]]
    called = f"python benchmarks/training_step.py --steps {options.steps} --write"
    command = f"Command: `{called}`, {date.today()}; {machine()}."
    text = "\n".join(["# Steps of training", "", command, "", ABOUT, "", *lines, ""])
    print(text)
    if options.write:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
