"""The operators of a program, to compare two exports of one module with each other."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator

import torch
from torch import fx
from torch.export import ExportedProgram


def operators(program: fx.GraphModule | ExportedProgram, *, used_only: bool = False) -> Counter[str]:
    """How often each operator is called, sub-graphs included.

    `used_only` leaves out what no output, write or random number depends on: torch.export(strict=True) removes much of
    it (an index that a library computes and throws away) from Dynamo's graph, strict=False and ours keep it.
    """
    top = program.graph_module if isinstance(program, ExportedProgram) else program
    found: Counter[str] = Counter()
    for module in top.modules():
        if isinstance(module, fx.GraphModule):
            nodes = _used(module.graph) if used_only else iter(module.graph.nodes)
            targets = [n.target for n in nodes if n.op == "call_function"]
            found.update("getitem" if t is operator.getitem else str(t) for t in targets)
    return found


def _used(graph: fx.Graph) -> Iterator[fx.Node]:
    used: set[fx.Node] = set()
    for node in reversed(graph.nodes):
        if node.op == "output" or _matters(node) or any(user in used for user in node.users):
            used.add(node)
            yield node


def _matters(node: fx.Node) -> bool:
    """Whether a node does something beside giving a value (sub-graphs count as doing so)."""
    if node.op != "call_function" or node.target is operator.getitem:
        return False
    if not isinstance(node.target, torch._ops.OpOverload):
        return True
    schema = node.target._schema
    return schema.is_mutable or not schema.returns or torch.Tag.nondeterministic_seeded in node.target.tags
