"""Expressions as a table: each row names earlier rows by their number, the oldest expression first."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Atom, Extended, Int, Symbol
from dynamo_lite.symbolic_shapes.expressions.floats import Float
from dynamo_lite.symbolic_shapes.expressions.nodes import Node
from dynamo_lite.symbolic_shapes.expressions.relations import FloatRelation, Junction, Rel, Truth
from dynamo_lite.symbolic_shapes.proofs.proof import Congruent

Row = list[Any]


class NodeTable:
    """The expressions that a document speaks of. They are numbered once all of them are known (`rows`)."""

    def __init__(self) -> None:
        self._found: dict[Node, None] = {}
        self._congruences: dict[Congruent, None] = {}
        self._numbers: dict[Any, int] = {}

    def add(self, datum: Any) -> None:
        """Keep an expression, or those in a tuple, with their parts."""
        stack = [datum]
        while stack:
            part = stack.pop()
            if isinstance(part, Congruent):
                self._congruences[part] = None
                stack.append(part.poly)
            elif isinstance(part, tuple):
                stack.extend(part)
            elif isinstance(part, Node) and part not in self._found:
                self._found[part] = None
                stack.extend(_parts(part))

    def rows(self) -> list[Row]:
        """The table. Expressions are made after their parts, so by age each names only earlier rows."""
        ordered: list[Any] = [*sorted(self._found, key=lambda node: node.id), *self._congruences]
        self._numbers = {node: number for number, node in enumerate(ordered)}
        return [self._row(node) for node in ordered]

    def number(self, node: Any) -> int:
        """The row of an expression."""
        return self._numbers[node]

    def datum(self, value: Any) -> Any:
        """A parameter of a step: "#3" for an expression, a list for a tuple, else the number or word itself."""
        if isinstance(value, tuple) and not isinstance(value, Congruent):
            return [self.datum(part) for part in value]
        return f"#{self._numbers[value]}" if isinstance(value, Node) else value

    def _row(self, node: Any) -> Row:
        if isinstance(node, Congruent):
            return ["mod", self._numbers[node.poly], node.modulus]
        return _ROWS[type(node)](node, self._numbers.__getitem__)


def _parts(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Int):
        return tuple(node.atoms())
    return (node.poly,) if isinstance(node, Rel) else tuple(getattr(node, "args", ()))


def _end(end: Extended) -> int | None:
    return None if isinstance(end, float) and math.isinf(end) else int(end)


def _float(node: Float, number: Callable[[Any], int]) -> Row:
    if node.op == "const":
        return ["number", repr(node.value)]
    return ["unknown", node.name] if node.op == "symbol" else ["apply", node.op, *map(number, node.args)]


def _apply(node: Atom, number: Callable[[Any], int]) -> Row:
    assert isinstance(node, Apply)
    return ["apply", node.op, *map(number, node.args)]


_ROWS: dict[type, Callable[[Any, Callable[[Any], int]], Row]] = {
    Symbol: lambda node, number: ["symbol", node.name, _end(node.lo), _end(node.hi)],
    Int: lambda node, number: ["sum", node.const, *([k, *map(number, mono)] for mono, k in node.sorted_terms())],
    Apply: _apply,
    Float: _float,
    Truth: lambda node, number: ["true" if node.value else "false"],
    Rel: lambda node, number: [node.kind, number(node.poly)],
    Junction: lambda node, number: [node.kind, *map(number, node.args)],
    FloatRelation: lambda node, number: ["compare", node.op, *map(number, node.args), node.positive],
}
