"""A tensor that an earlier recording left on the heap: a memo field, `if self.mask is None: self.mask = torch.ones(n)`.

The second recording of a program meets the first one's stand-in there. Where that was computed from constants alone, it
is the same tensor in every call, and computing it again says the same; so its operators are recorded again, and the
two recordings can be compared (fingerprint.py). Anything else is refused: a memo of an input or of a parameter is not
what a later call computes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture._torch import OpOverload

_IN_PLACE_BUT_PURE = frozenset({torch.ops.aten.detach_.default})
"""detach_ ends torch.tensor(...): it changes no value."""


def is_pure(node: fx.Node) -> bool:
    """Whether a node gives the same result wherever it stands: nothing is changed in place and nothing is drawn."""
    target = node.target
    if target is operator.getitem or target in _IN_PLACE_BUT_PURE:
        return True
    if not isinstance(target, OpOverload):
        return False
    return not target._schema.is_mutable and torch.Tag.nondeterministic_seeded not in target.tags


def constant_history(node: fx.Node, constants: set[fx.Node]) -> list[fx.Node] | None:
    """What `node` is computed from, in order, itself last; None unless all is pure and begins at `constants`."""
    needed: set[fx.Node] = set()
    todo = [node]
    while todo:
        current = todo.pop()
        if current in needed:
            continue
        if not (current in constants or (current.op == "call_function" and is_pure(current))):
            return None
        needed.add(current)
        todo.extend(current.all_input_nodes)
    return [n for n in node.graph.nodes if n in needed]


def copy_history(
    history: list[fx.Node], graph: fx.Graph, known: dict[fx.Node, fx.Node], constant: Callable[[fx.Node], fx.Node]
) -> fx.Node:
    """Record `history` again in `graph`; the node of its last. `constant` gives the placeholder for a constant's."""
    for node in history:
        if node not in known:
            is_constant = node.op == "placeholder"
            known[node] = constant(node) if is_constant else graph.node_copy(node, lambda n: known[n])
    return known[history[-1]]


def order_matters(graph: fx.Graph) -> bool:
    """Whether the graph changes anything in place, so that the place of an operator counts."""
    return any(_changes(node) for node in graph.nodes)


def _changes(node: fx.Node) -> bool:
    target: Any = node.target
    if node.op != "call_function" or target is operator.getitem or target in _IN_PLACE_BUT_PURE:
        return False
    return not isinstance(target, OpOverload) or target._schema.is_mutable
