"""Which inputs and buffers a program changes in place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from dynamo_lite.errors import UserFrame
from dynamo_lite.program.effect_record import Effect, Verdict
from dynamo_lite.program.trees.user_inputs import input_rows

_KINDS = {InputKind.USER_INPUT: "input", InputKind.BUFFER: "buffer", InputKind.PARAMETER: "parameter"}


def changed_in_place(program: ExportedProgram, assigned: set[str]) -> Iterator[Effect]:
    """An effect for each placeholder that an operator changes, itself or a view of it, with that operator's line.

    `assigned` are the buffers that the program assigns, which is an effect of its own.
    """
    changes = _last_changes(program.graph)
    for node, spec in input_rows(program):
        change = changes.get(node, node)
        if change is not node and spec.kind in _KINDS and spec.target not in assigned:
            name = node.name if spec.kind is InputKind.USER_INPUT else f"self.{spec.target}"
            value = f"a tensor of shape {tuple(node.meta['val'].shape)}"
            yield Effect(_KINDS[spec.kind], name, value, value, Verdict.CARRIED, frames_of(change))


def last_change(node: fx.Node) -> fx.Node:
    """The last operator that changes a placeholder's value in place, or a view of it; the node itself if none."""
    return _last_changes(node.graph).get(node, node)


def _last_changes(graph: fx.Graph) -> dict[fx.Node, fx.Node]:
    """The same for all placeholders: an operator's result that may share memory belongs to its first argument."""
    origin: dict[fx.Node, fx.Node] = {}
    found: dict[fx.Node, fx.Node] = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            origin[node] = node
        elif node.op == "call_function" and (first := next(iter(node.all_input_nodes), None)) in origin:
            schema = getattr(node.target, "_schema", None)
            if schema is not None and any(a.alias_info is not None for a in schema.arguments):
                origin[node] = origin[first]
                if schema.is_mutable:
                    found[origin[node]] = node
    return found


def frames_of(node: fx.Node) -> tuple[UserFrame, ...]:
    """The program's stack in a node's metadata, outermost first."""
    rows = re.findall(r'File "(.+?)", line (\d+), in ([^\n]*)', node.meta.get("stack_trace") or "")
    return tuple(UserFrame(file, int(line), name) for file, line, name in rows)
