"""The sizes of the inputs: which vary and how far, which are constant and why, which are tied and by which line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from dynamo_lite.report.proofs import fact_record
from dynamo_lite.report.sources import Sources
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Rel, eq
from dynamo_lite.symbolic_shapes.expressions.relations import ge as at_least
from dynamo_lite.symbolic_shapes.expressions.relations import le as at_most
from dynamo_lite.torch_internals._torch_pytree import keystr


def input_sizes(program: Any, solution: Any, sources: Sources) -> list[dict[str, Any]]:
    """One row for each dimension of each tensor input, and for each number."""
    declared = {} if solution is None else {dim.source: index for index, dim in enumerate(solution.table.dims)}
    rows: list[dict[str, Any]] = []
    for number, (name, path, value) in enumerate(_user_inputs(program)):
        dims: list[tuple[Any, Any]] = []
        if isinstance(value, torch.Tensor):
            dims = [(dim, size) for dim, size in enumerate(value.shape)]
        elif isinstance(value, (torch.SymInt, torch.SymFloat)) or type(value) is int:
            dims = [(None, value)]
        for dim, size in dims:
            source = f"L{path}" if dim is None else f"L{path}.size()[{dim}]"
            row = {
                "id": f"d{len(rows)}",
                "input": number,
                "node": name,
                "label": _label(path, dim),
                "dim": dim,
                "size": str(size),
                "constant": isinstance(size, int),
            }
            if source in declared:
                row |= _declared(solution, declared[source], sources)
            elif row["constant"]:
                row |= {"spec": "", "why": "dynamic_shapes does not let it vary: it is the example's"}
            else:
                row |= {"spec": "unbacked", "why": "it varies, and the example decides nothing about it", "facts": []}
                row |= {"range": _range(program, size)}
            rows.append(row)
    return rows


def _range(program: Any, size: Any) -> list[str]:
    """The ends of the range of a variable; "" for an end that is open, or for an expression."""
    known = {str(symbol): found for symbol, found in program.range_constraints.items()}.get(str(size))
    ends = () if known is None else (known.lower, known.upper)
    return [str(end) if str(end).lstrip("-").isdigit() else "" for end in ends] or ["", ""]


def _declared(solution: Any, index: int, sources: Sources) -> dict[str, Any]:
    """The record of a dimension: its specification, and the conditions that the program adds."""
    table, guard_set = solution.table, solution.guard_set
    dim, spec, size = table.dims[index], table.specs[index], table.sizes[index]
    final = guard_set.size_of(size)
    lo, hi = guard_set.range_of(size)
    row: dict[str, Any] = {
        "label": dim.text,
        "spec": f"{dim.target} = {spec.to_python()}",
        "example": dim.hint,
        "symbols": sorted(str(symbol) for symbol in symbols_of(final)),
        "range": [str(end) if isinstance(end, int) else "" for end in (lo, hi)],
        "why": "",
        "facts": [],
    }
    if final.as_constant() is None:
        given = max(getattr(spec, "lo", 0), 0), getattr(spec, "hi", hi)
        row["ends"] = [
            _because(guard_set, at_least(size, lo)) if isinstance(lo, int) and lo > given[0] else "",
            _because(guard_set, at_most(size, hi)) if isinstance(hi, int) and hi != given[1] else "",
        ]
        row["why"] = "it varies" if final is size else f"it varies as {table.in_words(final)} does"
        facts = _facts_about(guard_set, size) if final is not size else ()
    elif size.as_constant() is not None:
        notes = [note for note in table.notes if note.startswith(f"{dim.text} ")]
        row["why"] = notes[0] if notes else "by its specification it is the example's"
        facts = ()
    else:
        row["why"] = "the program needs this very number"
        facts = tuple(dict.fromkeys(f for g in guard_set.resting_on(eq(size, final)) for f in guard_set.origins(g)))
        facts = facts or tuple(_facts_about(guard_set, size))
    row["facts"] = _fact_records(facts, table, sources)
    return row


def _because(guard_set: Any, end: Any) -> str:
    """The line that an end of a range is because of; "" for one that is open, or that the specification gives."""
    if not isinstance(end, Rel):
        return ""
    facts = [fact for guard in guard_set.resting_on(end) for fact in guard_set.origins(guard)]
    origins = [fact.origin for fact in facts if fact.origin.file]
    return f"{origins[0].file.rsplit('/', 1)[-1]}:{origins[0].line}" if origins else ""


def _fact_records(facts: Iterable[Any], table: Any, sources: Sources) -> list[dict[str, Any]]:
    """The facts, with the lines that made them."""
    records = []
    for fact in facts:
        record = fact_record(fact, table.in_words, "", sources, link=False)
        if fact.origin.file:
            record["origin"]["at"] = sources.place(fact.origin.file, fact.origin.line)
        records.append(record)
    return records


def ties(solution: Any, sources: Sources, guard_ids: dict[str, str]) -> list[dict[str, Any]]:
    """The picture of sizes: groups of dimensions that share a variable, or that a condition ties to another.

    `guard_ids`: the text of a condition → the id of the guard that checks it.
    """
    if solution is None:
        return []
    table, guard_set = solution.table, solution.guard_set
    rows = []
    for index, dim in enumerate(table.dims):
        for other in range(index):
            shared = symbols_of(table.sizes[index]) & symbols_of(table.sizes[other])
            if shared:
                text = f"{dim.text} == {table.in_words(table.sizes[index])}"
                by = f"{dim.target} = {table.specs[index].to_python()}"
                rows.append({"between": [table.dims[other].text, dim.text], "text": text, "by": by, "facts": []})
                break
    texts = {line.guards: line.text for line in solution.guard_lines() if line.guards}
    for guard in guard_set.guards:
        symbols = [symbol for symbol in guard_set.symbols if symbol in symbols_of(guard.relation)]
        labels = [label for symbol in symbols if (label := _dim_of(table, symbol))]
        if len(labels) < 2:
            continue
        identifier = guard_ids.get(texts.get((guard,), ""), "")
        facts = _fact_records(guard_set.origins(guard), table, sources)
        rows.append(
            {"between": labels, "text": table.in_words(guard.relation), "by": "", "guard": identifier, "facts": facts}
        )
    return rows


def _dim_of(table: Any, symbol: Any) -> str:
    """The first dimension that is the symbol, else one in whose size it is."""
    users = table.users(symbol) or [i for i, size in enumerate(table.sizes) if symbol in symbols_of(size)]
    return table.dims[users[0]].text if users else ""


def _facts_about(guard_set: Any, size: Any) -> Iterator[Any]:
    wanted = symbols_of(size)
    for guard in guard_set.guards:
        if guard.kind == "equality" and guard.symbol in wanted:
            yield from guard_set.origins(guard)


def _user_inputs(program: Any) -> Iterator[tuple[str, str, Any]]:
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    specs = program.graph_signature.input_specs
    users = [node for node, spec in zip(nodes, specs) if spec.kind is InputKind.USER_INPUT]
    paths = [keystr(path) for path in getattr(program, "input_paths", ())]
    if len(paths) != len(users):
        paths = [f"[{node.name!r}]" for node in users]
    return ((node.name, path, node.meta.get("val")) for path, node in zip(paths, users))


def _label(path: str, dim: int | None) -> str:
    """ "['x'][0]" and 1 → "x[0].shape[1]"."""
    head, _, rest = path.removeprefix("['").partition("']")
    return f"{head}{rest}" if dim is None else f"{head}{rest}.shape[{dim}]"
