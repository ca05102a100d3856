"""Comparisons of floats. Exact ones become integer relations; the rest are `FloatRelation`s, decided by bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

from dynamo_lite.symbolic_shapes.expressions.evaluation import COMPARISONS
from dynamo_lite.symbolic_shapes.expressions.expr import Int
from dynamo_lite.symbolic_shapes.expressions.floats import EXACT, Float, as_float, constant_of, float_interval
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval, declared
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, Bool, FloatRelation, as_bool, eq, le, opaque

SIDE_CONDITIONS: dict[str, Callable[..., bool]] = {
    # float(p) <= c  <=>  p <= floor(c)   needs |c| < 2**53: then float(p) rounds on c's other side or not at all
    "compare with a constant: small": lambda c: abs(c) < EXACT,
    # float(p) <= float(q)  <=>  p <= q   needs both exact
    "compare two: exact": lambda p: declared(p)[0] >= -EXACT and declared(p)[1] <= EXACT,
}


def compare(op: str, a: Float | Int | float, b: Float | Int | float) -> Bool:
    """a < b, a <= b or a == b (`op` "lt", "le", "eq"), as Python compares two floats."""
    a, b = as_float(a), as_float(b)
    x, y = constant_of(a), constant_of(b)
    if x is not None and y is not None:
        return as_bool(COMPARISONS[op](x, y))
    if (x is not None and x != x) or (y is not None and y != y):
        return FALSE  # nan compares false with everything
    p, q = _integer_of(a), _integer_of(b)
    small = SIDE_CONDITIONS["compare with a constant: small"]
    if p is not None and y is not None and small(y):
        return _with_constant(op, p, float(y))
    if q is not None and x is not None and small(x):
        # c <= q  <=>  -q <= -c
        return _with_constant(op, -q, -float(x))
    exact = SIDE_CONDITIONS["compare two: exact"]
    if p is not None and q is not None and exact(p) and exact(q):
        return eq(p, q) if op == "eq" else le(p, q) if op == "le" else le(p, q - 1)
    return opaque(op, a, b)


def _integer_of(x: Float) -> Int | None:
    return x.args[0] if x.op == "to_float" else None  # type: ignore[return-value]


def _with_constant(op: str, p: Int, c: float) -> Bool:
    if op == "eq":
        return eq(p, int(c)) if c == math.floor(c) else FALSE
    return le(p, math.floor(c)) if op == "le" else le(p, math.ceil(c) - 1)


def never_nan(x: Float, of_int: Callable[[Int], Interval]) -> bool:
    """Whether the value is a number whenever there is a value (conversions and int / int raise instead)."""
    if x.op == "const":
        return x.value == x.value
    if x.op in {"to_float", "int_truediv"}:
        return True
    if x.op not in {"add", "sub", "mul", "neg", "sqrt"}:
        return False
    parts = [a for a in x.args if isinstance(a, Float)]
    return all(never_nan(a, of_int) and all(map(math.isfinite, float_interval(a, of_int))) for a in parts)


def opaque_truth(b: FloatRelation, of_int: Callable[[Int], Interval]) -> bool | None:
    """The truth of a float comparison by bounds: True only if neither operand can be nan (which compares false)."""
    x, y = b.args
    assert isinstance(x, Float) and isinstance(y, Float)
    (xl, xh), (yl, yh) = float_interval(x, of_int), float_interval(y, of_int)
    truth: bool | None = None
    if {"lt": xh < yl, "le": xh <= yl, "eq": xl == xh == yl == yh}[b.op]:
        truth = True if never_nan(x, of_int) and never_nan(y, of_int) else None
    elif {"lt": xl >= yh, "le": xl > yh, "eq": xl > yh or xh < yl}[b.op]:
        truth = False
    return truth if truth is None else truth == b.positive
