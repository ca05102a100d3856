"""The report as a plain dict that JSON can hold. Its keys are those of `document`; docs/report.md describes them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Protocol

import torch

from dynamo_lite.errors import InvalidArguments
from dynamo_lite.guards import Guard
from dynamo_lite.report import groups
from dynamo_lite.report.branches import branches
from dynamo_lite.report.nodes import Nodes
from dynamo_lite.report.parts import PARTS
from dynamo_lite.report.problems import case_records, problem_records
from dynamo_lite.report.proofs import origin_record, reason_record
from dynamo_lite.report.sizes import input_sizes, ties
from dynamo_lite.report.sources import Sources

FORMAT = 1
"""Raised when a key changes its meaning."""


class Traced(Protocol):
    """The part of a trace (dynamo_lite.traces.Trace) that a report needs."""

    program: Any
    guards: Any
    effects: Any
    specializations: Any
    notes: Any
    solution: Any
    compared: Any


class Explained(Protocol):
    """The part of an explanation (dynamo_lite.explanation.Explanation) that a report needs."""

    problems: Any
    effects: Any
    specializations: Any
    notes: Any
    complete: bool


def of_trace(trace: Traced, title: str = "") -> dict[str, Any]:
    """The document of a program that was exported."""
    sources = Sources()
    nodes = Nodes(trace.program, sources)
    owned = groups.owned_by_torch(trace.guards)
    guards = [_guard(index, guard, owned, sources) for index, guard in enumerate(trace.guards)]
    ids = {guard["text"]: guard["id"] for guard in guards if guard["group"] == "sizes"}
    _values_of_sizes(nodes.records, guards, sources.places)
    body = {
        "nodes": nodes.records,
        "guards": guards,
        "inputs": input_sizes(trace.program, trace.solution, sources),
        "ties": ties(trace.solution, sources, ids),
        "ranges": {str(s): [str(r.lower), str(r.upper)] for s, r in trace.program.range_constraints.items()},
    }
    left = _left(trace, sources)
    body["branches"] = branches(trace.solution, trace.compared, nodes.records, left["notes"], sources)
    return _document(title, sources, body, left, [])


def of_explanation(found: Explained, title: str = "") -> dict[str, Any]:
    """The document of a program that is refused: its graph breaks, in place."""
    sources = Sources()
    problems = problem_records(found.problems, sources)
    empty: dict[str, Any] = {"nodes": [], "guards": [], "inputs": [], "ties": [], "ranges": {}, "branches": []}
    return _document(title, sources, empty, _left(found, sources), problems, found.complete)


def _document(
    title: str,
    sources: Sources,
    body: dict[str, Any],
    left: dict[str, Any],
    problems: list[dict[str, Any]],
    complete: bool = True,
) -> dict[str, Any]:
    import dynamo_lite

    counts = {
        "operators": sum(node["op"] == "call_function" for node in body["nodes"]),
        "guards": len(body["guards"]),
        "of_the_program": sum(guard["group"] in ("sizes", "arguments", "values") for guard in body["guards"]),
        "effects": len(left["effects"]),
        "fixed": len(left["fixed"]),
        "notes": len(left["notes"]),
        "branches": len(body["branches"]),
        "problems": len(problems),
    }
    return {
        "format": FORMAT,
        "title": title or "dynamo-lite",
        "versions": {"dynamo_lite": dynamo_lite.__version__, "torch": torch.__version__},
        "counts": counts,
        "complete": complete,
        **body,
        **left,
        "problems": problems,
        "cases": case_records(sorted({p["case"] for p in problems if p["case"]})),
        "groups": [{"key": g.key, "title": g.title, "folded": g.folded} for g in groups.GROUPS],
        "parts": _parts(body["nodes"]),
        "places": sources.places,
        "files": sources.records(),
    }


def _parts(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts of a step of training with the numbers of their operators; none of a program without a backward."""
    counts = Counter(node["part"] for node in nodes)
    rows = [{"key": part.key, "title": part.title, "operators": counts[part.key]} for part in PARTS]
    return rows if counts["backward"] else []


def _guard(index: int, guard: Guard, owned: Collection[str], sources: Sources) -> dict[str, Any]:
    identifier, frame = f"g{index}", groups.place_of(guard)
    record: dict[str, Any] = {
        "id": identifier,
        "group": groups.group_of(guard, owned),
        "kind": guard.kind,
        "text": guard.text,
        "source": guard.source.text if guard.source is not None else "",
        "expects": guard.expects(),
        "at": None,
        "why": "",
        "proof": None,
    }
    if frame is not None:
        record["at"] = sources.link(frame.filename, frame.lineno, "guards", identifier)
    if hasattr(guard.line, "solution"):
        record["why"] = str(guard.line)
        record["proof"] = reason_record(guard.line, identifier, sources)
        record["at"] = next((f["origin"]["at"] for f in record["proof"]["facts"] if f["origin"]["at"]), None)
    elif guard.kind == "python":
        record["why"] = "properties that the inputs share with the example: dtypes, memory layout, which are one tensor"
    if guard.kind == "equals" and type(guard.expected) in (int, tuple):
        record["numbers"] = [guard.expected] if type(guard.expected) is int else _ints(guard.expected)
    return record


def _ints(values: Iterable[Any]) -> list[int]:
    return [value for value in values if type(value) is int]


def _values_of_sizes(nodes: list[dict[str, Any]], guards: list[dict[str, Any]], places: list[dict[str, Any]]) -> None:
    """A constant size that a call was given as a number: the values of this number that its line, or a line around it,
    has read."""
    by_line: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for guard in guards:
        if guard.get("numbers") and guard["at"]:
            by_line.setdefault((guard["at"]["file"], guard["at"]["line"]), []).append(guard)
    for node in nodes:
        lines = {(places[number]["file"], places[number]["line"]) for number in node["stack"]}
        for size in node["sizes"]:
            if size.get("written"):
                found = [g["id"] for line in lines for g in by_line.get(line, ()) if int(size["size"]) in g["numbers"]]
                size["values"] = found


def _left(found: Any, sources: Sources) -> dict[str, Any]:
    """The limits of the program: effects that it lacks, fixed sizes, notes."""
    effects = [
        {
            "id": f"e{number}",
            "kind": effect.kind,
            "target": effect.target,
            "verdict": effect.verdict.value,
            "text": str(effect.text),
            "at": sources.at(effect.frames, "effects", f"e{number}"),
        }
        for number, effect in enumerate(found.effects)
    ]
    fixed = [
        {
            "id": f"s{number}",
            "text": f"{row.expression} == {row.value}",
            "why": row.why,
            "origin": origin_record(row.origin, f"s{number}", sources, "fixed"),
        }
        for number, row in enumerate(found.specializations)
    ]
    notes = [
        {"id": f"t{number}", "text": text, "at": sources.at(frames, "notes", f"t{number}")}
        for number, (text, frames) in enumerate(found.notes.items())
    ]
    return {"effects": effects, "fixed": fixed, "notes": notes}


def write(document: dict[str, Any], path: str | Path) -> None:
    """Write a document: as a page (.html) or as it is (.json). InvalidArguments for any other suffix."""
    path = Path(path)
    if path.suffix == ".json":
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    elif path.suffix in (".html", ".htm"):
        from dynamo_lite.report.page import page

        path.write_text(page(document), encoding="utf-8")
    else:
        raise InvalidArguments(f"a report is written to an .html or .json file, not to {path.name!r}")
