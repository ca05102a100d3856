"""Where the time of a warm export goes, and what its parts cost alone: the floor.

    python benchmarks/export_floor.py [--runs 7] [--write]

ABOUT says what is measured. `--write` keeps the page in benchmarks/results/export_floor.md.
"""

from __future__ import annotations

import argparse
import copy
import cProfile
import gc
import os
import pstats
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import fx
from torch.utils import _pytree as pytree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.exporters import machine, progress  # noqa: E402
from dynamo_lite import export  # noqa: E402
from dynamo_lite.capture.fakes.fake_mode import FakeTensorMode  # noqa: E402
from dynamo_lite.interpreter import interpret  # noqa: E402
from tests.models.registry import CORE, Case, load  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "export_floor.md"
MODELS = ("gpt_12", "convnet_eval", "bert", "llama", "resnet", "swin", "deberta_v2")
PARTS = (
    *(("interpreter", "dynamo_lite/interpreter/"), ("capture", "dynamo_lite/capture/")),
    *(("tracing", "dynamo_lite/tracing/"), ("guards", "guards/"), ("program", "dynamo_lite/program/")),
    *(("symbolic_shapes", "symbolic_shapes/"), ("the rest of dynamo_lite", "dynamo_lite/")),
    *(("torch.fx", "torch/fx/"), ("torch FakeTensor", "torch/_subclasses/"), ("torch.export", "torch/export/")),
    *(("torch.export", "torch/_export/"), ("the rest of torch", "torch/"), ("transformers", "transformers/")),
)


ABOUT = """\
Seconds, medians, one model after another in one process:

- export: dynamo_lite.export, warm.
- FakeTensor: torch's own FakeTensorMode runs the module once under CPython; nothing is recorded.
- interpreter: what the interpreter takes longer than CPython for the same forward, both on the `meta` device.
- nodes made: the graph's nodes are made once more with their metadata, and of them a GraphModule and an
  ExportedProgram, which torch's verifier looks through.

The sum of the three is the floor of an exporter that interprets bytecode, asks FakeTensor for each operator and makes
torch's ExportedProgram; where the interpreter has no figure (the model does not run on the meta device), of two.
FakeTensor is asked for few operators on constant sizes: rules and the memory answer most.
The second table has the share of each part of the packages, by cProfile: time in their own functions, C included."""


def median(call: Callable[[], Any], runs: int) -> float:
    """Seconds of one call; the first is not counted. The collector runs before each, not during it."""
    call()
    measured = []
    for _ in range(runs):
        gc.collect()
        start = time.perf_counter()
        call()
        measured.append(time.perf_counter() - start)
    return statistics.median(measured)


def fake(case: Case) -> Callable[[], Any]:
    """The forward on FakeTensors, under CPython."""
    mode = FakeTensorMode()
    module = copy.deepcopy(case.module)
    args, kwargs = pytree.tree_map_only(torch.Tensor, mode.from_tensor, case.inputs(0))
    state: dict[str, torch.Tensor] = {
        name: mode.from_tensor(value.detach()) for name, value in [*module.named_parameters(), *module.named_buffers()]
    }

    def run() -> None:
        with mode:
            torch.func.functional_call(module, state, args, kwargs)

    return run


def on_meta(case: Case) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The forward on the meta device, under CPython and in the interpreter."""
    module = copy.deepcopy(case.module).to("meta")
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: t.to("meta"), case.inputs(0))
    return lambda: module(*args, **kwargs), lambda: interpret(module, *args, **kwargs)


def nodes(program: torch.export.ExportedProgram) -> Callable[[], Any]:
    """The same program, made once more of its graph."""

    def run() -> None:
        graph = fx.Graph()
        made: dict[fx.Node, fx.Node] = {}
        for node in program.graph.nodes:
            args, kwargs = fx.node.map_arg((node.args, node.kwargs), made.__getitem__)
            new = made[node] = graph.create_node(node.op, node.target, args, kwargs, node.name)
            new.meta = dict(node.meta)
        torch.export.ExportedProgram(
            fx.GraphModule(program.graph_module, graph),
            graph,
            program.graph_signature,
            program.state_dict,
            program.range_constraints,
            program.module_call_graph,
            program.example_inputs,
            program.constants,
            verifiers=program.verifiers,
        )

    return run


def measured(case: Case, runs: int) -> tuple[list[float], int, dict[str, float]]:
    """(seconds: export, FakeTensor, interpreter, nodes; number of nodes; part of the packages → its share)."""
    args, kwargs = case.inputs(0)
    program = export(case.module, args, kwargs)
    native, interpreted = on_meta(case)
    seconds = [
        median(lambda: export(case.module, args, kwargs), runs),
        median(fake(case), runs),
        _or_nan(lambda: median(interpreted, runs) - median(native, runs)),
        median(nodes(program), runs),
    ]
    return seconds, len(program.graph.nodes), shares(lambda: export(case.module, args, kwargs))


def _or_nan(measure: Callable[[], float]) -> float:
    """NaN for a module that does not run on the meta device (it asks for data)."""
    try:
        return measure()
    except (NotImplementedError, RuntimeError):
        return float("nan")


def shares(call: Callable[[], Any]) -> dict[str, float]:
    """Part → its share of the time of one call."""
    gc.collect()
    profile = cProfile.Profile(builtins=False)
    profile.runcall(call)
    rows: dict[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    found: Counter[str] = Counter()
    for (file, _, _), (_, _, own, _, _) in rows.items():
        found[_part(file)] += own
    total = sum(found.values())
    return {part: own / total for part, own in found.items()}


def _part(file: str) -> str:
    path = file.rpartition("site-packages/")[2].removeprefix(f"{ROOT}/")
    return next((name for name, start in PARTS if path.startswith(start)), "the rest")


def table(rows: dict[str, tuple[list[float], int, dict[str, float]]]) -> str:
    lines = ["| model | nodes | export | FakeTensor | interpreter | nodes made | floor (sum) | export / floor |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, (seconds, count, _) in rows.items():
        floor = sum(value for value in seconds[1:] if value == value)
        cells = " | ".join("–" if value != value else f"{value:.3f}" for value in seconds)
        lines.append(f"| {name} | {count} | {cells} | {floor:.3f} | {seconds[0] / floor:.1f}× |")
    parts = [*dict.fromkeys(name for name, _ in PARTS), "the rest"]
    lines += ["", f"| share of | {' | '.join(rows)} |", "|---|" + "---:|" * len(rows)]
    for part in parts:
        lines.append(f"| {part} | {' | '.join(f'{share.get(part, 0):.0%}' for _, _, share in rows.values())} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    models = load(CORE)
    rows = {}
    for name in MODELS:
        progress(name)
        rows[name] = measured(models[name].case(), options.runs)
    progress("")
    command = " ".join(["python benchmarks/export_floor.py", *sys.argv[1:]])
    head = f"# The floor of an export\n\nCommand: `{command}`; {machine()}."
    page = f"{head}\n\n{ABOUT}\n\n{table(rows)}\n"
    print(page)
    if options.write:
        RESULTS.write_text(page)


if __name__ == "__main__":
    main()
