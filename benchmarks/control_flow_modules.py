"""Real modules with control flow on data: what dynamo-lite captures, and what torch.export says to the same modules.

    python -m benchmarks.control_flow_modules STATE [--only=NAME,NAME] [--ours] [--write]

Each module of benchmarks/control_flow_programs is exported on its first call, and the program is compared with eager
on all its calls (results, errors, inputs and buffers afterwards), by each exporter alike. STATE is a JSON file of the
outcomes so far: what it has is not run again, so the run can be done in pieces. --ours: without torch's exporters.
--write: the table, into benchmarks/results/control_flow_modules.md.
"""

from __future__ import annotations

import copy
import json
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import torch

import dynamo_lite
from benchmarks.control_flow_programs import MODULES, Module
from benchmarks.time_limit import TimeIsUp, time_limit
from dynamo_lite.errors import GraphBreak
from tests.control_flow.harness import differences, same

_RESULTS = Path(__file__).parent / "results" / "control_flow_modules.md"
_SECONDS = 60
OURS = "dynamo-lite"
Outcome = dict[str, Any]
Export = Callable[[torch.nn.Module, tuple[Any, ...], Any], torch.export.ExportedProgram]


def _ours(model: torch.nn.Module, args: tuple[Any, ...], shapes: Any) -> torch.export.ExportedProgram:
    return dynamo_lite.export(model, args, dynamic_shapes=shapes, control_flow="capture")


def _strict(model: torch.nn.Module, args: tuple[Any, ...], shapes: Any) -> torch.export.ExportedProgram:
    return torch.export.export(model, args, dynamic_shapes=shapes, strict=True)


def _non_strict(model: torch.nn.Module, args: tuple[Any, ...], shapes: Any) -> torch.export.ExportedProgram:
    return torch.export.export(model, args, dynamic_shapes=shapes, strict=False)


def _draft(model: torch.nn.Module, args: tuple[Any, ...], shapes: Any) -> torch.export.ExportedProgram:
    return torch.export.draft_export(model, args, dynamic_shapes=shapes)


EXPORTERS: dict[str, Export] = {OURS: _ours, "strict": _strict, "non-strict": _non_strict, "draft": _draft}


def made(entry: Module) -> torch.nn.Module:
    torch.manual_seed(0)
    return entry.make().eval()


def exported(entry: Module, model: torch.nn.Module, export: Export = _ours) -> torch.export.ExportedProgram:
    """Of a copy of the model: an exporter may change buffers."""
    with torch.set_grad_enabled(not entry.no_grad):
        return export(copy.deepcopy(model), copy.deepcopy(entry.calls[0]), copy.deepcopy(entry.shapes))


def outcome(entry: Module, export: Export) -> Outcome:
    """`error` and its text; or how many of the calls the program does otherwise than eager."""
    torch._dynamo.reset()
    start, model = time.perf_counter(), made(entry)
    try:
        with time_limit(_SECONDS):
            program = exported(entry, model, export)
            seconds = time.perf_counter() - start
            with torch.set_grad_enabled(not entry.no_grad):
                found = compared(model, program.module(), entry.calls)
    except TimeIsUp:
        return {"error": f"more than {_SECONDS} s", "text": "", "seconds": _SECONDS}
    except GraphBreak as error:
        return {"error": error.id, "text": str(error), "seconds": time.perf_counter() - start}
    except Exception as error:  # any exporter may raise anything: it is the outcome
        return {"error": type(error).__name__, "text": str(error)[:2000], "seconds": time.perf_counter() - start}
    raised = {line.split(":")[0] for line in found if "program raised" in line or "Error(" in line}
    wrong = {line.split(":")[0] for line in found} - raised
    text = "\n".join(line[:300] for line in found)[:2000]
    return {"wrong": len(wrong), "raises": len(raised), "text": text, "seconds": seconds}


def compared(model: torch.nn.Module, program: torch.nn.Module, calls: tuple[tuple[Any, ...], ...]) -> list[str]:
    """Each call from the first state, and all calls in a row, where buffers keep what earlier calls wrote."""
    found, eager, ours = differences(lambda: copy.deepcopy(program), model, calls), copy.deepcopy(model), program
    for number, call in enumerate(calls):
        want, got = [_result(each, call) for each in (eager, ours)]
        if not same(want, got):
            found.append(f"call {number}: in a row: eager {want}, program {got}")
    return found


def _result(module: torch.nn.Module, call: tuple[Any, ...]) -> Any:
    try:
        return module(*copy.deepcopy(call))
    except Exception:  # which error a program raises is its own: that it raises is compared
        return "raised"


def cell(entry: Module, result: Outcome) -> str:
    if not result:
        return "not run"
    if "error" in result:
        return str(result["error"])
    parts = [f"{what} on {result[key]}" for key, what in (("wrong", "wrong"), ("raises", "raises")) if result[key]]
    return f"**{', '.join(parts)} of {len(entry.calls)} calls**" if parts else "equal"


def _reason(result: Outcome) -> str:
    """The first paragraph of a refusal, on one line."""
    text = " ".join(result["text"].split("\n\n")[0].split()).replace("|", "/").replace(f"{Path.cwd()}/", "")
    return text[:300]


def _table(state: dict[str, dict[str, Outcome]]) -> str:
    rows, refused = [], []
    for name, entry in MODULES.items():
        results = [state.get(name, {}).get(e, {}) for e in EXPORTERS]
        ours, others = results[0], results[1:]
        captured = "refused" if "error" in ours else "captured" if ours else "not run"
        equal = f"`{ours['error']}`" if "error" in ours else cell(entry, ours)
        theirs = " | ".join(cell(entry, each) for each in others)
        rows.append(f"| {name} | {entry.what} | {captured} | {equal} | {ours.get('seconds', 0):.2f} | {theirs} |")
        if "error" in ours:
            refused.append(f"- **{name}**, `{ours['error']}`: {_reason(ours)}")
    cells = {e: [cell(entry, state.get(name, {}).get(e, {})) for name, entry in MODULES.items()] for e in EXPORTERS}
    counts = [cells[e].count("equal") for e in EXPORTERS]
    wrong = [sum("wrong on" in cell for cell in cells[e]) for e in EXPORTERS]
    raising = [sum(cell.startswith("**raises") for cell in cells[e]) for e in EXPORTERS]
    head = (__doc__ or "").split("\n    ")[1].splitlines()[0]
    totals = "; ".join(
        f"{'torch ' * (e != OURS)}{e} {n} equal, {w} wrong, {r} only raising"
        for e, n, w, r in zip(EXPORTERS, counts, wrong, raising)
    )
    return "\n".join([
        "# Control flow on data: real modules", "",
        f"`{head}`, torch {torch.__version__}. Each module is exported on one call and compared with eager on at least",
        "three others that take other ways or have other lengths, each from the first state and all in a row.",
        "\"equal\": on all calls; \"wrong\": a program was made that gives other values than eager, or none of its",
        "errors; \"raises\": it was made, and raises where eager does not. draft_export reports what it assumed, its",
        f"program is for the way of the example. A limit of {_SECONDS} s per export and comparison.", "",
        f"Of {len(MODULES)} modules: {totals}.", "",
        "| module | what it is | dynamo-lite | equal to eager | export, s "
        "| torch strict | torch non-strict | draft_export |",
        "|---|---|---|---|---|---|---|---|", *rows, "",
        "## The refusals", "", *refused, ""])  # fmt: skip


def measured(entries: Mapping[str, Module], exporters: Iterable[str]) -> dict[str, dict[str, Outcome]]:
    """The outcomes in the file that the command names, and those that it lacks. Written after each."""
    file = Path(next(a for a in sys.argv[1:] if not a.startswith("--")))
    names = next((a[7:].split(",") for a in sys.argv[1:] if a.startswith("--only=")), list(entries))
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    state: dict[str, dict[str, Outcome]] = json.loads(file.read_text()) if file.exists() else {}
    for name, which in product(names, exporters):
        done = state.setdefault(name, {})
        if which not in done:
            done[which] = outcome(entries[name], EXPORTERS[which])
            file.write_text(json.dumps(state, indent=1))
            print(f"{name}, {which}: {cell(entries[name], done[which])}", flush=True)
    return state


def main() -> None:
    state = measured(MODULES, [OURS] if "--ours" in sys.argv else EXPORTERS)
    if "--write" in sys.argv:
        _RESULTS.write_text(_table(state))


if __name__ == "__main__":
    main()
