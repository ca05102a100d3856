"""How often models are refused, captured and narrowed: each of the core and the long list exported once by dynamo-lite.

    python -m benchmarks.model_outcomes --log FILE [--seconds 600] [--models bert,vit]
    python -m benchmarks.model_outcomes --log FILE --write    # the rows of FILE by name: results/model_outcomes.jsonl

The dimensions of `tests.models.dynamic`, batch and length, are given as `Dim.AUTO`. The order is random with a fixed
seed: a run that ends early (`--seconds`: no model is begun after so many) is a fair sample. The file is a stamp and a
line for each model, written as it comes; those that are there are not exported again, unless the limit on time ended
them. Each export is in a fork of a process that has exported a toy only. The program is not compared with eager
(`python -m tests.models.report` does that).
"""

from __future__ import annotations

import json
import logging
import platform
import random
import re
import subprocess
import time
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import torch
from torch.fx import GraphModule

from benchmarks.export_time import in_fork, parser_of
from benchmarks.exporters import OURS, first_line, progress, timed, toy
from benchmarks.result_tables import RESULTS, ROOT
from benchmarks.small_sizes import axes_of, example_of
from benchmarks.time_limit import TimeIsUp, time_limit
from dynamo_lite import trace
from dynamo_lite.errors import GraphBreak
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.symbolic_shapes.size_guards.guard import SizeGuard
from dynamo_lite.symbolic_shapes.size_guards.guard_set import SizeGuardSet
from dynamo_lite.traces import Trace
from tests.models.dynamic import dynamic_shapes
from tests.models.registry import CORE, LONG, Model, load

SECONDS_PER_MODEL = 120
DATA = RESULTS / "model_outcomes.jsonl"
CONTROL_FLOW = ("cond", "while_loop", "scan")
"""Operators of torch that a captured branch or loop becomes."""
STOPPED = "TimeIsUp"
RAISING = {"Dim spec", "torch._check", "division"}
"""Kinds of origins of a fact for which the program raises in eager too."""
_CAPTURED = re.compile(r"the ((?:branch|loop) on \w+) at line \d+ .* is captured", re.DOTALL)
_FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")


@dataclass
class ModelOutcome:
    """What one export gave.

    Attributes:
        axes: the dynamic sizes.
        refused: the id of the refusal, or the class of another error, with its first line; empty if there is none.
        captured: what was captured ("branch on data", ...) → how many.
        operators: those of control flow in the program → nodes.
        compared: branches on sizes whose sides were found to compute the same.
        constant: sizes made constant, with the line.
        narrowed: conditions on sizes that the example decided where eager may run on either side, with the line.
        ties: dynamic sizes that have to be equal, or an expression of others.
    """

    name: str
    axes: list[str] = field(default_factory=list)
    refused: str = ""
    captured: dict[str, int] = field(default_factory=dict)
    operators: dict[str, int] = field(default_factory=dict)
    compared: int = 0
    constant: list[str] = field(default_factory=list)
    narrowed: list[str] = field(default_factory=list)
    ties: int = 0
    seconds: float = 0.0


def outcome(model: Model) -> ModelOutcome:
    """Export it once. Any error of the export is a result."""
    made = ModelOutcome(model.name)
    start = time.perf_counter()
    try:
        with time_limit(SECONDS_PER_MODEL), torch.no_grad():
            case = example_of(model.case())
            axes = axes_of(case)
            made.axes = [*axes]
            args, kwargs = case.inputs(0)
            shapes = dynamic_shapes(case, *axes.values()) if axes else None
            start = time.perf_counter()
            _read(trace(case.module, args, kwargs, dynamic_shapes=shapes), made)
    except TimeIsUp as error:
        made.refused = f"{STOPPED}: {error}"
    except GraphBreak as error:
        made.refused = f"{error.id}: {_plain(first_line(error))}"
    except Exception as error:
        made.refused = _plain(first_line(error))
    made.seconds = round(time.perf_counter() - start, 2)
    return made


def _read(found: Trace, made: ModelOutcome) -> None:
    kinds = filter(None, map(_CAPTURED.match, found.notes))
    made.captured = dict(Counter(kind[1] for kind in kinds))
    made.operators = dict(Counter(control_flow(found.program.graph_module)))
    made.compared = len(found.compared)
    made.constant = [_plain(str(row))[:200] for row in found.specializations]
    if found.solution is not None:
        guards = found.solution.guard_set
        made.ties = sum(guard.kind == "equality" for guard in guards.guards)
        made.narrowed = [
            f"{guard}, {_plain(str(why))}"[:300] for guard in guards.guards for why in narrows(guards, guard)
        ]


def control_flow(graph_module: GraphModule) -> list[str]:
    """The operators of control flow of a graph and of those inside of it, a name for each node."""
    operators = {getattr(torch.ops.higher_order, name): name for name in CONTROL_FLOW}
    graphs = [module.graph for module in graph_module.modules() if isinstance(module, GraphModule)]
    return [operators[node.target] for graph in graphs for node in graph.nodes if node.target in operators]


def narrows(guards: SizeGuardSet, guard: SizeGuard) -> list[Origin]:
    """The first answer, if there is one, that a guard on sizes rests on and that eager does not check; not of a tie."""
    if guard.kind == "equality":
        return []
    origins = [fact.origin for fact in guards.origins(guard)]
    return [origin for origin in origins if not origin.eager_raises and origin.kind not in RAISING][:1]


def _plain(text: str) -> str:
    return _FOLDERS.sub("", " ".join(text.split()))


def stamp(listed: int) -> dict[str, Any]:
    """The state that is measured."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {
        "commit": commit.strip()[:12],
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "date": str(date.today()),
        "models": listed,
    }


def measure(models: list[Model], log: Path, seconds: float, listed: int) -> None:
    """Append a line for each model that the log has not, or that was stopped; ValueError for a log of another state."""
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    about = stamp(listed)
    if lines and any(lines[0][key] != about[key] for key in ("commit", "torch", "python", "models")):
        raise ValueError(f"{log} is of another state: {lines[0]}")
    known = {line["name"] for line in lines[1:] if not line["refused"].startswith(STOPPED)}
    start = time.monotonic()
    with log.open("a", encoding="utf-8") as file:
        if not lines:
            print(json.dumps(about), file=file, flush=True)
        for model in models:
            if model.name in known:
                continue
            if time.monotonic() - start > seconds:
                return
            progress(f"{len(known)} of {listed}: {model.name}")
            try:
                made = in_fork(outcome, model)
            except RuntimeError as error:  # the process died: of memory, most likely
                made = ModelOutcome(model.name, refused=str(error))
            known.add(model.name)
            print(json.dumps(asdict(made)), file=file, flush=True)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--log", type=Path, required=True, help="append each row to this file, and skip those there")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no model after so many")
    options = parser.parse_args()
    if options.write:
        first, *rows = options.log.read_text("utf-8").splitlines()
        by_name = {json.loads(row)["name"]: row for row in rows}  # the last one of a name
        DATA.write_text("\n".join([first, *(by_name[name] for name in sorted(by_name))]) + "\n", encoding="utf-8")
        return
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    models = load(CORE, LONG)
    names = options.models.split(",") if options.models else random.Random(0).sample(sorted(models), len(models))
    timed(OURS, *toy())
    measure([models[name] for name in names], options.log, options.seconds, len(models))
    progress("")


if __name__ == "__main__":
    main()
