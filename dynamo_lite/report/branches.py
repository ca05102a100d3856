"""The path of the program: the lines that decided on sizes, and the branches and loops that are in the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from dynamo_lite.report.proofs import compared_record, origin_record
from dynamo_lite.report.sources import Sources

_CONTROL: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType({
    "cond": ("both sides are in the program", ("where it holds", "where it does not hold")),
    "switch": ("all sides are in the program", ()),
    "while_loop": ("the loop is in the program, run as long as its condition holds", ("the condition", "an iteration")),
    "scan": ("the loop is in the program, one iteration for each row", ("an iteration",)),
    "associative_scan": ("the scan is in the program", ("two values as one",)),
    "map": ("the loop is in the program, one iteration for each row", ("an iteration",)),
    "invoke_subgraph": ("a region is in the program once", ("the region",)),
})  # fmt: skip
"""Operator → its description on the page, and those of its sub-graphs in the order of the arguments."""


def branches(
    solution: Any,
    compared: Iterable[Any],
    nodes: list[dict[str, Any]],
    notes: list[dict[str, Any]],
    sources: Sources,
) -> list[dict[str, Any]]:
    """The records of branches and loops. `solution`: that of the sizes, None for a program without. `compared`: the
    branches on sizes that are not guards. `nodes`, `notes`: their records."""
    rows: list[dict[str, Any]] = []
    for fact in () if solution is None else solution.guard_set.collected:
        if fact.kind == "guard" and fact.origin.kind == "user line":
            identifier = f"b{len(rows)}"
            origin = origin_record(fact.origin, identifier, sources, "branches")
            rows.append({"id": identifier, "text": solution.table.in_words(fact.relation), "origin": origin})
    rows.extend(compared_record(row, f"b{number}", sources) for number, row in enumerate(compared, len(rows)))
    by_id = {node["id"]: node for node in nodes}
    for node in nodes:
        known = _CONTROL.get(_base_name(node["operator"])) if node["op"] == "call_function" else None
        if known is not None:
            rows.append(_in_the_graph(f"b{len(rows)}", node, known, by_id, notes, sources))
    return rows


def _base_name(operator: str) -> str:
    """ "cond" of "cond", "higher_order.cond" and "cond_1"."""
    name = operator.split(".")[-1]
    return next((known for known in sorted(_CONTROL, key=len, reverse=True) if name.startswith(known)), "")


def _in_the_graph(
    identifier: str,
    node: dict[str, Any],
    known: tuple[str, tuple[str, ...]],
    by_id: Mapping[str, dict[str, Any]],
    notes: list[dict[str, Any]],
    sources: Sources,
) -> dict[str, Any]:
    text, names = known
    at = node["at"]
    if at is not None:
        sources.link(at["path"], at["line"], "branches", identifier)
    parts: list[dict[str, Any]] = []
    for graph in (by_id[i] for i in node["inputs"] if i in by_id and by_id[i]["op"] == "get_attr"):
        path = f"{node['graph']}{graph['operator']}."
        inside = [row["id"] for row in by_id.values() if row["graph"] == path and row["op"] == "call_function"]
        if any(row["graph"] == path for row in by_id.values()):
            name = names[len(parts)] if len(parts) < len(names) else f"side {len(parts)}"
            parts.append({"name": name, "nodes": inside})
    return {
        "id": identifier,
        "text": f"{text}: {node['operator']}",
        "node": node["id"],
        "parts": parts,
        "notes": [note["id"] for note in notes if at is not None and note["at"] == at],
        "origin": {"kind": "control flow", "note": "", "at": at, "text": ""},
    }
