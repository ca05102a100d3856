"""Steps of training as one program: which tracer takes them, whether twenty steps are eager's, and the time of one.

    python benchmarks/training_step.py [--steps 20] [--models GPT2 ...] [--backend aot_eager] [--times] [--write]
    python benchmarks/training_step.py --continued [--steps 20] [--models GPT2 ...]

`--continued`: half of the steps here, and the others of the saved program in a process that imports torch alone.
The ten models of tests/features/training/models.py. `--write` keeps the table in benchmarks/results/training_step.md.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
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

from benchmarks.exporters import commit, machine, progress  # noqa: E402
from dynamo_lite import export, save  # noqa: E402
from tests.features.training.harness import state_of_optimizers  # noqa: E402
from tests.features.training.models import STEPS  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "training_step.md"
ABOUT = """\
Each step begins with a fresh optimizer. "equal": losses, parameters, buffers and the state of the optimizer after these
steps are eager's (rtol and atol 1e-5); "no" with the class of the error: the step is not taken. torch.export: strict,
and strict=False. torch.compile: fullgraph=True, for which "equal" does not say that there is a program to save."""
ABOUT_TIMES = """
Milliseconds of a step, median, one thread: eager, `program.module()`, and torch.compile after its compilation."""

Call = Callable[..., Any]


def seed_and_make(name: str) -> Any:
    torch.manual_seed(0)
    return STEPS[name][0]()


def attempt(call: Callable[[], str]) -> str:
    """What a call gives, as a cell of the table: "no" and the class of its error if it raises one."""
    try:
        return call()
    except Exception as error:  # another tracer may raise anything
        return f"no ({type(error).__name__})"


def compared(name: str, run: Call, state: Callable[[], dict[str, Any]], steps: int) -> str:
    """ "equal", or what is not, of the first steps of `run` and of eager. state: what `run` has changed, by name."""
    inputs, eager = STEPS[name][1], seed_and_make(name)
    for number in range(steps):
        torch.manual_seed(number)
        expected = eager(*inputs(number))
        torch.manual_seed(number)
        if not alike(run(*inputs(number)), expected):
            return f"loss of step {number} differs"
    found = state()
    wanted = {**eager.state_dict(), **state_of_optimizers(eager)}
    wrong = [key for key, value in wanted.items() if not alike(found[key], value)]
    return f"{wrong[0]} differs" if wrong else "equal"


def alike(one: Any, other: Any) -> bool:
    try:
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5, equal_nan=True)
    except AssertionError:
        return False
    return True


def median_ms(call: Call, inputs: Callable[[int], tuple[Any, ...]], steps: int) -> str:
    """Milliseconds of one call; the first three are not counted."""
    measured = []
    for number in range(steps + 3):
        given = inputs(number)
        start = time.perf_counter()
        call(*given)
        measured.append((time.perf_counter() - start) * 1000)
    return f"{statistics.median(measured[3:]):.2f}"


def row(name: str, options: argparse.Namespace) -> list[str]:
    inputs, steps = STEPS[name][1], options.steps

    def ours() -> str:
        program = export(seed_and_make(name), inputs(0))
        nodes.append(str(len(program.graph.nodes)))
        run = program.module()
        return compared(name, run, lambda: dict(run.state_dict()), steps)

    def exported(strict: bool) -> str:
        program = torch.export.export(seed_and_make(name), inputs(0), strict=strict)
        run = program.module()
        return compared(name, run, lambda: dict(run.state_dict()), steps)

    def compiled(module: Any) -> Call:
        torch._dynamo.reset()
        step: Call = torch.compile(module, fullgraph=True, backend=options.backend)
        return step

    def checked() -> str:
        module = seed_and_make(name)
        return compared(name, compiled(module), lambda: {**module.state_dict(), **state_of_optimizers(module)}, steps)

    nodes: list[str] = []
    verdicts = [attempt(each) for each in (ours, lambda: exported(True), lambda: exported(False), checked)]
    cells = [name, *(nodes or ["-"]), *verdicts]
    if options.times:
        calls: list[Callable[[], Call]] = [
            lambda: seed_and_make(name),
            lambda: export(seed_and_make(name), inputs(0)).module(),
            lambda: compiled(seed_and_make(name)),
        ]
        cells += [attempt(lambda make=make: median_ms(make(), inputs, steps)) for make in calls]  # type: ignore[misc]
    return cells


_OTHER_PROCESS = """
import sys, torch
directory = sys.argv[1]
run = torch.export.load(f"{directory}/program.pt2").module()
results = []
for inputs, randomness in torch.load(f"{directory}/inputs.pt"):
    torch.set_rng_state(randomness)
    results.append(run(*inputs))
assert "dynamo_lite" not in sys.modules
torch.save((results, dict(run.state_dict())), f"{directory}/found.pt")
"""


def continued(name: str, steps: int) -> str:
    """ "equal", or what is not, of steps of which another process takes the second half, from the saved program."""
    inputs, half = STEPS[name][1], steps // 2
    program = export(seed_and_make(name), inputs(0))
    run = program.module()
    for number in range(half):
        torch.manual_seed(number)
        run(*inputs(number))
    with tempfile.TemporaryDirectory() as directory:
        save(program, f"{directory}/program.pt2")
        given = []
        for number in range(half, steps):
            torch.manual_seed(number)
            given.append((inputs(number), torch.get_rng_state()))
        torch.save(given, f"{directory}/inputs.pt")
        done = subprocess.run([sys.executable, "-c", _OTHER_PROCESS, directory], capture_output=True, text=True)
        if done.returncode:
            return f"no: {done.stderr.strip().splitlines()[-1]}"
        results, state = torch.load(f"{directory}/found.pt")
    rest = iter(results)
    of_first = seed_and_make(name)  # the first half is the program's own, compared by `ours`

    def both(*given: Any) -> Any:
        return of_first(*given) if next(count) < half else next(rest)

    count = itertools.count()
    return compared(name, both, lambda: state, steps)


def head(options: argparse.Namespace) -> list[str]:
    names = ["step", "nodes", "dynamo-lite", "torch.export", "strict=False", f"torch.compile ({options.backend})"]
    return names + ["eager (ms)", "program (ms)", "compiled (ms)"] * options.times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--models", nargs="*", default=[*STEPS])
    parser.add_argument("--backend", default="aot_eager")
    parser.add_argument("--times", action="store_true", help="on a machine without other work")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--continued", action="store_true", help="save, and go on in another process")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.continued:
        for name in options.models:
            print(name, attempt(lambda name=name: continued(name, options.steps)), flush=True)  # type: ignore[misc]
        return
    rows = []
    for name in options.models:
        progress(f"{name} ...")
        rows.append(row(name, options))
    progress("")
    names = head(options)
    lines = [f"| {' | '.join(cells)} |" for cells in [names, ["---"] * len(names), *rows]]
    called = f"python benchmarks/training_step.py --steps {options.steps} --backend {options.backend}"
    called += " --times" * options.times + " --write"
    command = f"Command: `{called}` (commit {commit()}), {date.today()}; {machine()}."
    about = ABOUT + (ABOUT_TIMES if options.times else "\nTimes were left out: other work ran on the machine.")
    text = "\n".join(["# Steps of training", "", command, "", about, "", *lines, ""])
    print(text)
    if options.write:
        _, heading, below = RESULTS.read_text().partition("\n## ")  # written by hand
        RESULTS.write_text(text + heading + below)


if __name__ == "__main__":
    main()
