"""A trace in about a screen: sizes, the program's own conditions, effects and notes. Other parts are counted, and
unfolded on request."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from torch import fx
from torch.export.graph_signature import InputKind, OutputKind

from dynamo_lite.errors import InvalidArguments
from dynamo_lite.guards import Guard
from dynamo_lite.guards.alike import alike, row_of
from dynamo_lite.report.document import Traced
from dynamo_lite.report.groups import GROUPS, brief_place, grouped, innermost_text
from dynamo_lite.report.parts import PARTS, parts_of
from dynamo_lite.report.sizes import input_sizes
from dynamo_lite.report.sources import Sources, frames_of, innermost

Sections = Iterator[tuple[str, list[str]]]
_PLACE = re.compile(r"/[^\s:`'\"()]+\.py(?=:\d)")
_PACKAGES = re.compile(r"^.*/(?:site|dist)-packages/")
_MOST = 20
"""Rows of one group that are not folded."""


def sections(trace: Traced, unfold: bool | Collection[str] = False) -> Sections:
    """(title, lines). `unfold`: True for everything, or keys of groups (groups.GROUPS). InvalidArguments for others.

    Files are named from the working directory, or from the folder of installed packages, where they are below it.
    """
    keys = _unfolded(unfold)
    for title, lines in _sections(trace, keys):
        yield title, [_PLACE.sub(_short, line) for line in lines]


def _short(place: re.Match[str]) -> str:
    """The path of a file without the folder of installed packages, or the working directory."""
    path, here = place[0], os.path.join(os.getcwd(), "")
    return path.removeprefix(here) if path.startswith(here) else _PACKAGES.sub("", path)


def _sections(trace: Traced, keys: frozenset[str]) -> Sections:
    yield "Program", _program(trace.program)
    parts = list(_parts(trace.program, keys))
    if parts:
        yield "Step of training", parts
    sizes = list(_sizes(trace))
    if sizes:
        yield "Sizes", sizes
    if trace.compared:
        yield "Branches on sizes whose sides compute the same values: no conditions", [*map(str, trace.compared)]
    if trace.guards:
        yield f"Assumptions ({len(trace.guards)})", list(_assumptions(trace.guards, keys))
    if trace.effects:
        yield "Effects", [str(effect) for effect in trace.effects]
    if trace.specializations:
        yield "Fixed sizes", [str(row) for row in trace.specializations]
    if trace.notes:
        yield "Notes", [text + innermost_text(frames) for text, frames in trace.notes.items()]


def _unfolded(unfold: bool | Collection[str]) -> frozenset[str]:
    known = frozenset(row.key for row in (*GROUPS, *PARTS))
    if isinstance(unfold, bool):
        return known if unfold else frozenset()
    asked = frozenset({unfold} if isinstance(unfold, str) else unfold)
    if asked - known:
        unknown = ", ".join(sorted(asked - known))
        raise InvalidArguments(f"unfold takes {', '.join(sorted(known))}, or True; not {unknown}")
    return asked


def _program(program: Any) -> list[str]:
    signature = program.graph_signature
    count, inner = _operators(program.graph_module)
    kinds = Counter(spec.kind for spec in signature.input_specs)
    parts = [_count(kinds[kind], what) for kind, what in _KINDS.items() if kinds[kind]]
    users = [spec.arg.name for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT]
    outputs = sum(spec.kind is OutputKind.USER_OUTPUT for spec in signature.output_specs)
    inside = f" and {inner} in its branches and loops" if inner else ""
    return [
        ", ".join([_count(count, "operator") + inside, *parts, _count(outputs, "output")]),
        f"inputs: {', '.join(map(str, users))}",
    ]


def _parts(program: Any, keys: frozenset[str]) -> Iterator[str]:
    """The parts of a step of training: counts, or each operator with its line."""
    found = parts_of(program.graph_module)
    for part in PARTS if found else ():
        nodes = [node for node, key in found.items() if key == part.key and node.op == "call_function"]
        folded = "" if part.key in keys else f"   (unfold={part.key!r})"
        yield f"{_count(len(nodes), 'operator')}: {part.title}{folded}"
        for node in nodes if part.key in keys else ():
            frame = innermost(frames_of(node.meta.get("stack_trace")))
            place = f"  # {frame.filename}:{frame.lineno}" if frame is not None else ""
            yield f"  {node.name} = {node.target}{place}"


def _operators(module: fx.GraphModule) -> tuple[int, int]:
    """The operators of a graph, and those of the graphs that its operators call."""
    own = sum(node.op == "call_function" for node in module.graph.nodes)
    graphs = (getattr(module, str(node.target), None) for node in module.graph.nodes if node.op == "get_attr")
    return own, sum(sum(_operators(graph)) for graph in graphs if isinstance(graph, fx.GraphModule))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"  # fmt: skip


_KINDS = {
    InputKind.PARAMETER: "parameter",
    InputKind.BUFFER: "buffer",
    InputKind.CONSTANT_TENSOR: "constant",
    InputKind.CUSTOM_OBJ: "object",
    InputKind.TOKEN: "token",
}


def _sizes(trace: Traced) -> Iterator[str]:
    """The dimensions that may vary by the specification: how far they do, or why they do not."""
    for row in input_sizes(trace.program, trace.solution, Sources()):
        if not row.get("spec"):
            continue
        lo, hi = row["range"]
        lines = "".join(f"; {fact['text']}, {fact['origin']['text']}" for fact in row["facts"][:2])
        low, high = (f" because of {line}" if line else "" for line in row.get("ends", ("", "")))
        within = "" if row["constant"] or not (lo or hi) else f" ({lo or 'any'}{low} to {hi or 'any'}{high})"
        yield f"{row['label']} is {row['size']}{within}: {row['why']}{lines}"


def _assumptions(guards: Any, keys: frozenset[str]) -> Iterator[str]:
    groups = {group.key: group for group in GROUPS}
    for key, rows in grouped(guards).items():
        if groups[key].folded and key not in keys:
            yield f"+ {len(rows)} {groups[key].folded}   (unfold={key!r})"
            continue
        lines = list(rows_of([guard for _, guard in rows], all=key in keys))
        shown = lines if key in keys else lines[:_MOST]
        yield from shown
        if len(shown) < len(lines):
            yield f"+ {len(lines) - len(shown)} more of {groups[key].title}   (unfold={key!r})"


def rows_of(guards: list[Guard], all: bool) -> Iterator[str]:
    """One line a guard; unless `all` are asked for, those of layers that are alike are one line."""
    for found in [[guard] for guard in guards] if all else alike(guards, brief_place):
        place = brief_place(found[0])
        yield row_of(found) + (f"  # {place}" if place else "")
