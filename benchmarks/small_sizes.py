"""Programs with dynamic sizes, called at the smallest: each dynamic dimension cut to 1, 2 and 3, alone and together.

    python benchmarks/small_sizes.py [--sample N] [--models bert,vit] [--exporters dynamo-lite] [--log FILE] [--write]

Every model of the core and the long list with a dynamic batch and, where it has one, a dynamic length is exported
twice by each exporter: with `Dim.AUTO`, and with named Dims whose least size is 1. (A dimension that eager does not
take at 1 gets the least of 2 and 3 that it takes; where that is none, as for audio, it is left to AUTO.) The program is
then called at each small size that eager takes. A call is *equal*, *wrong* (another result), or *rejected* (an error).
Each export is made in a fork of a process that has exported a toy only and has built the model.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

from benchmarks.export_time import RESULTS, export_a_toy, in_fork, machine, parser_of, progress
from benchmarks.exporters import EXPORTERS, OURS, first_line, timed
from benchmarks.long_list import chosen_models
from benchmarks.time_limit import TimeIsUp, time_limit
from tests.models.compare import difference, run, told_of_export
from tests.models.dynamic import Axis, batch_axis, dynamic_shapes, length_axis, resized
from tests.models.registry import Case, Inputs, Model

SECONDS_PER_MODEL = 240
SIZES = (1, 2, 3)
AUTO, NAMED = "Dim.AUTO", "Dim(min=1)"


@dataclass
class Outcome:
    """What one program did. `refusal`: why there is none. `calls`: {"batch": 1} as text → equal, or what was else."""

    refusal: str = ""
    calls: dict[str, str] = field(default_factory=dict)
    conditions: list[str] = field(default_factory=list)

    def count(self, verdict: str, size: int | None = None) -> int:
        """How many calls (with a dimension of `size`) begin with `verdict`."""
        calls = {name: found for name, found in self.calls.items() if size is None or f"={size}" in name}
        return sum(found.startswith(verdict) for found in calls.values())


@dataclass
class Row:
    """One model: exporter → spec → outcome."""

    name: str
    outcomes: dict[str, dict[str, Outcome]]


def axes_of(case: Case) -> dict[str, Axis]:
    """The dynamic axes by name; of the batch only if it has at least two in the example (`example_of`)."""
    found = {"batch": batch_axis(case), "length": length_axis(case)}
    return {name: axis for name, axis in found.items() if axis is not None}


def example_of(case: Case) -> Case:
    """`case`, with a batch of two where it has one."""
    batch = batch_axis(case)
    if batch is None or batch.size >= 2:
        return case
    return Case(case.module, resized(case, batch, 2), case.tolerance)


def specs(case: Case, axes: dict[str, Axis]) -> dict[str, Any]:
    """The two specifications of the axes."""
    auto = dynamic_shapes(case, *axes.values())
    leasts = {name: _least(case, axis) for name, axis in axes.items()}
    dims = {name: Dim.AUTO if least is None else Dim(name, min=least) for name, least in leasts.items()}
    places, tree = pytree.tree_flatten(auto, is_leaf=_is_place)
    named = [
        None if place is None else {dim: dims[_axis_of(axes, index, dim)] for dim in place}
        for index, place in enumerate(places)
    ]
    return {AUTO: auto, NAMED: pytree.tree_unflatten(named, tree)}


def _least(case: Case, axis: Axis) -> int | None:
    """The least of the small sizes of a dimension that eager takes, if it takes any."""
    return next((size for size in SIZES if _takes(case, resized(case, axis, size)(3))), None)


def _takes(case: Case, inputs: Inputs) -> bool:
    """Whether eager runs on these inputs; it may raise anything where it does not."""
    try:
        run(case.module, inputs)
    except Exception:
        return False
    return True


def _is_place(value: Any) -> bool:
    """Whether a part of a specification is that of one input."""
    return value is None or (isinstance(value, dict) and bool(value) and all(type(key) is int for key in value))


def _axis_of(axes: dict[str, Axis], index: int, dim: int) -> str:
    return next(name for name, axis in axes.items() if axis.dims[index] == dim)


def small_calls(case: Case, axes: dict[str, Axis]) -> Iterator[tuple[str, Inputs]]:
    """(name, inputs) of each: one axis cut, and all of them."""
    for name, axis in axes.items():
        for size in SIZES:
            yield f"{name}={size}", resized(case, axis, size)(3)
    if len(axes) > 1:
        for size in SIZES:
            cut = case
            for axis in axes.values():
                cut = Case(cut.module, resized(cut, axis, size), cut.tolerance)
            yield ", ".join(f"{name}={size}" for name in axes), cut.inputs(3)


def outcome(exporter: str, model: Model, spec: str) -> Outcome:
    """Export, and call the program at each small size that eager takes."""
    made = Outcome()
    try:
        with time_limit(SECONDS_PER_MODEL), torch.no_grad():
            case = example_of(model.case())
            axes = axes_of(case)
            timing = timed(exporter, case.module, case.inputs(0), specs(case, axes)[spec])
            made.refusal = timing.refusal
            if timing.program is None:
                return made
            made.conditions = [str(line) for line in getattr(timing.program, "_guards_code", None) or ()]
            program = timing.program.module()
            with told_of_export():
                for name, inputs in small_calls(case, axes):
                    verdict = _verdict(program, case, axes, name, inputs)
                    if verdict:
                        made.calls[name] = verdict
    except TimeIsUp as error:
        made.refusal = str(error)
    return made


def _verdict(program: Any, case: Case, axes: dict[str, Axis], name: str, inputs: Inputs) -> str:
    """equal, "wrong: ..." or "rejected: ..."; nothing where eager raises."""
    try:
        want = run(case.module, inputs)
    except Exception:
        return ""
    again = dict(small_calls(case, axes))[name]
    try:
        got = run(program, again)
    except Exception as error:
        return f"rejected: {first_line(error, 300)}"
    found = difference(got.output, want.output, max(case.tolerance, 1e-5))
    return f"wrong: {found}" if found else "equal"


def measure(model: Model, exporters: list[str]) -> Row:
    """Each export in a fork of its own."""
    return Row(model.name, {e: {spec: in_fork(outcome, e, model, spec) for spec in (AUTO, NAMED)} for e in exporters})


def has_axes(model: Model) -> bool:
    return bool(axes_of(model.case()))


def _decoded(row: dict[str, Any]) -> Row:
    found = row["outcomes"]
    return Row(row["name"], {e: {spec: Outcome(**made) for spec, made in of.items()} for e, of in found.items()})


def rows_of(models: dict[str, Model], exporters: list[str], log: Path | None) -> list[Row]:
    """A row for each model; those that the log has are not measured again."""
    known = [json.loads(line) for line in log.read_text().splitlines()] if log is not None and log.exists() else []
    rows = {row["name"]: _decoded(row) for row in known}
    for number, (name, model) in enumerate(models.items(), 1):
        if name in rows:
            continue
        progress(f"{number} of {len(models)}: {name}")
        try:
            rows[name] = in_fork(measure, model, exporters)
        except RuntimeError as error:
            rows[name] = Row(name, {e: {spec: Outcome(str(error)) for spec in (AUTO, NAMED)} for e in exporters})
        if log is not None:
            with log.open("a") as file:
                print(json.dumps(asdict(rows[name])), file=file)
    progress("")
    return [rows[name] for name in models if name in rows]


def summary(rows: list[Row], exporters: list[str]) -> str:
    """The table of all models."""
    lines = ["| exporter | sizes | models that export | calls that eager takes | equal | of those with a 1 | rejected "
             "| wrong | models that take every call |", "|---|---|---:|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for exporter in exporters:
        for spec in (AUTO, NAMED):
            found = [row.outcomes[exporter][spec] for row in rows if exporter in row.outcomes]
            made = [one for one in found if not one.refusal]
            total = lambda verdict, size=None: sum(one.count(verdict, size) for one in made)  # noqa: B023, E731
            calls, equal, ones = total(""), total("equal"), total("", 1)
            whole = sum(one.count("equal") == len(one.calls) for one in made)
            share = f"{equal} ({100 * equal / calls:.1f} %)" if calls else "–"
            lines.append(
                f"| {exporter} | {spec} | {len(made)} of {len(found)} | {calls} | {share} | "
                f"{total('equal', 1)} of {ones} | {total('rejected')} | {total('wrong')} | {whole} of {len(made)} |"
            )
    return "\n".join(lines)


def details(rows: list[Row]) -> str:
    """What our programs do not take, by model."""
    lines = ["| model | sizes | what |", "|---|---|---|"]
    for row in rows:
        for spec, made in row.outcomes.get(OURS, {}).items():
            left = {name: found for name, found in made.calls.items() if found != "equal"}
            what = made.refusal or "; ".join(f"{name}: {found}" for name, found in left.items())
            if what:
                lines.append(f"| {row.name} | {spec} | {what[:300].replace('|', '/')} |")
    return "\n".join(lines)


def text_of(rows: list[Row], exporters: list[str], count: int) -> str:
    """The file of results."""
    return "\n".join([
        "# Programs with dynamic sizes, called at the smallest ones", "",
        f"Command: `{' '.join(['python benchmarks/small_sizes.py', *sys.argv[1:]])}`; {date.today()}; {machine()}.",
        f"{len(rows)} of {count} models. Calls count only where eager takes them and the model exports.", "",
        summary(rows, exporters), "", "## What ours does not take", "", details(rows), "",
    ])  # fmt: skip


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--log", type=Path, help="append each row to this file, and skip those already there")
    parser.add_argument("--sample", type=int, help="so many models, drawn at random with a fixed seed")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--exporters", default=",".join(EXPORTERS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    models, listed = chosen_models(options.models, options.sample, options.seed)
    export_a_toy()
    exporters = options.exporters.split(",")
    text = text_of(rows_of(models, exporters, options.log), exporters, listed)
    print(text)
    if options.write:
        (RESULTS / "small_sizes.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
