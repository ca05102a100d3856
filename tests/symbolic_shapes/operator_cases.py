"""What the tests of the constructors share: symbols, small values, and the comparison with Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from dynamo_lite.symbolic_shapes import Int, Symbol, evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import INF, Node

SMALL = range(-4, 5)
PAIRS = list(product(SMALL, repeat=2))


def symbols(names: str, lo: float = -INF, hi: float = INF) -> list[Int]:
    return [Symbol(name, lo, hi).as_int() for name in names]


def check(node: Node, expected: Callable[..., Any], parts: Sequence[Int], points: Sequence[Sequence[int]]) -> None:
    """The node is worth what Python says, wherever Python says something."""
    for point in points:
        try:
            value = expected(*point)
        except (ArithmeticError, ValueError):
            continue
        got = evaluate(node, {p.as_atom(): v for p, v in zip(parts, point)})
        assert got == value and type(got) is type(value), (node, point, got, value)
