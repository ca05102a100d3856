"""sympy's own classes: how each of our operators is written with them, and what each of them means."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import sympy

from dynamo_lite.symbolic_shapes.expressions.division import ceildiv
from dynamo_lite.symbolic_shapes.expressions.expr import Int, as_int
from dynamo_lite.symbolic_shapes.expressions.float_relations import compare
from dynamo_lite.symbolic_shapes.expressions.floats import Float, apply_float, as_float, float_const, int_truediv
from dynamo_lite.symbolic_shapes.expressions.piecewise import (
    FUNCTIONS,
    function,
    ite,
    ite_bool,
    maximum,
    minimum,
    power,
    round_float,
)
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, TRUE, Bool, and_, as_bool, eq, not_, or_
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.heads import Heads, NotConvertible


def _sum(*args: Any) -> Any:
    result = args[0]
    for arg in args[1:]:
        result = result + arg
    return result


def _mul(expr: sympy.Mul, convert: Callable[[Any], Any]) -> Any:
    numerator, denominator = expr.as_numer_denom() if any(map(_divides, expr.args)) else (expr, sympy.S.One)
    if denominator is not sympy.S.One and numerator is not expr:
        return _quotient(convert(numerator), convert(denominator))
    result: Any = as_int(1)
    for arg in expr.args:
        result = result * convert(arg)
    return result


def _divides(factor: Any) -> bool:
    """Whether a factor is 1/something: a negative power, or a rational number."""
    if isinstance(factor, sympy.Rational):
        return not factor.is_Integer
    return isinstance(factor, sympy.Pow) and bool(factor.exp.is_Integer) and factor.exp < 0


def _quotient(a: Any, b: Any) -> Any:
    """a / b, a float."""
    return int_truediv(a, b) if isinstance(a, Int) and isinstance(b, Int) else as_float(a) / as_float(b)


def _pow(expr: sympy.Pow, convert: Callable[[Any], Any]) -> Any:
    if expr.exp == sympy.Rational(1, 2):
        return apply_float("sqrt", as_float(convert(expr.base)))
    if _divides(expr):
        return _quotient(as_int(1), convert(expr.base**-expr.exp))
    base, exponent = convert(expr.base), convert(expr.exp)
    if isinstance(base, Float) or isinstance(exponent, Float):
        return as_float(base) ** as_float(exponent)
    return power(base, exponent)


def _rounded(divide: Callable[[Int, Int], Int], op: str) -> Callable[[Any, Callable[[Any], Any]], Any]:
    def convert_rounding(expr: Any, convert: Callable[[Any], Any]) -> Any:
        # sympy writes a floor division as floor(p / d) over the rationals: exact, so it is ours too.
        numerator, denominator = sympy.together(expr.args[0]).as_numer_denom()
        a, b = convert(numerator), convert(denominator)
        if isinstance(a, Int) and isinstance(b, Int):
            return divide(a, b)
        return round_float(op, as_float(a) if denominator == 1 else as_float(a) / as_float(b))

    return convert_rounding


def _piecewise(expr: sympy.Piecewise, convert: Callable[[Any], Any]) -> Any:
    pairs = [(convert(e), as_bool(convert(c))) for e, c in expr.args]
    if pairs[-1][1] is not TRUE:
        raise NotConvertible(f"{expr} has no value when none of its conditions holds")
    result: Any = pairs[-1][0]
    for value, cond in reversed(pairs[:-1]):
        if isinstance(value, Float) or isinstance(result, Float):
            raise NotConvertible(f"a choice between floats: {expr}")
        result = ite_bool(cond, value, result) if isinstance(value, Bool) else ite(cond, value, result)
    return result


def relation_from(op: str) -> Callable[[Any, Any], Bool]:
    """The constructor of a comparison for ints, floats or propositions. `op` is lt, le or eq."""

    def build(a: Any, b: Any) -> Bool:
        if isinstance(a, Bool) and isinstance(b, Bool):
            return (a & b) | (~a & ~b)
        if isinstance(a, Float) or isinstance(b, Float):
            return compare(op, as_float(a), as_float(b))
        return eq(a, b) if op == "eq" else (a <= b if op == "le" else a < b)

    return build


def _relation(build: Callable[[Any, Any], Bool]) -> Callable[[Any, Callable[[Any], Any]], Bool]:
    """A comparison; sympy may have divided it by a number (2*y < x becomes y < x/2): multiply that back."""

    def convert_relation(expr: Any, convert: Callable[[Any], Any]) -> Bool:
        left, right = expr.args
        scale = math.lcm(*(int(q.q) for q in expr.atoms(sympy.Rational))) if _has_fraction(expr) else 1
        return (
            build(convert(sympy.expand(left * scale)), convert(sympy.expand(right * scale)))
            if scale != 1
            else build(convert(left), convert(right))
        )

    return convert_relation


def _has_fraction(expr: Any) -> bool:
    """Whether a rational coefficient occurs outside of floor and ceiling (inside, it is a floor division), in a
    comparison of integers: one of floats is about their quotients as they are."""
    if isinstance(expr, sympy.core.relational.Relational) and expr.atoms(sympy.Float):
        return False
    if isinstance(expr, sympy.Rational):
        return not expr.is_Integer
    return not isinstance(expr, (sympy.floor, sympy.ceiling)) and any(map(_has_fraction, expr.args))


def _swapped(build: Callable[[Any, Any], Bool]) -> Callable[[Any, Any], Bool]:
    return lambda a, b: build(b, a)


def _remainder_of_sympy(p: Any, d: Any) -> Any:
    # It takes the sign of the divisor, as Python's. Its eval may undo and redo one step until the stack is full.
    return sympy.Mod(p, d, evaluate=False)


def to_piecewise(cond: Any, then: Any, other: Any) -> Any:
    return sympy.Piecewise((then, cond), (other, True))


PLAIN = Heads(
    to_sympy={
        "floordiv": lambda p, d: sympy.floor(p / d),
        "mod": _remainder_of_sympy,
        "natural_mod": _remainder_of_sympy,
        "max": sympy.Max,
        "min": sympy.Min,
        "pow": sympy.Pow,
        "natural_pow": sympy.Pow,
        "ite": to_piecewise,
        "int_truediv": lambda a, b: a / b,
        "to_float": lambda p: p * sympy.Float(1.0),
        "floor": sympy.floor,
        "ceil": sympy.ceiling,
        "add": sympy.Add,
        "sub": lambda a, b: a - b,
        "mul": sympy.Mul,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
        "sqrt": sympy.sqrt,
        "abs": sympy.Abs,
        **{name: sympy.Function(name) for name in FUNCTIONS},
    },
    from_sympy={
        sympy.Add: _sum,
        sympy.Max: maximum,
        sympy.Min: minimum,
        sympy.Abs: lambda x: apply_float("abs", x) if isinstance(x, Float) else abs(x),
        sympy.Mod: lambda p, d: p % d,
        sympy.And: and_,
        sympy.Or: or_,
        sympy.Not: not_,
        sympy.ITE: ite_bool,
    },
    raw={
        sympy.Integer: lambda e, _: as_int(int(e)),
        sympy.Float: lambda e, _: float_const(float(e)),
        type(sympy.true): lambda e, _: TRUE,
        type(sympy.false): lambda e, _: FALSE,
        sympy.Rational: lambda e, _: int_truediv(int(e.p), int(e.q)),
        sympy.core.numbers.Infinity: lambda e, _: float_const(math.inf),
        sympy.core.numbers.NegativeInfinity: lambda e, _: float_const(-math.inf),
        sympy.core.numbers.NaN: lambda e, _: float_const(math.nan),
        sympy.Mul: _mul,
        sympy.Pow: _pow,
        sympy.Eq: _relation(relation_from("eq")),
        sympy.Ne: _relation(lambda a, b: not_(relation_from("eq")(a, b))),
        sympy.Le: _relation(relation_from("le")),
        sympy.Lt: _relation(relation_from("lt")),
        sympy.Ge: _relation(_swapped(relation_from("le"))),
        sympy.Gt: _relation(_swapped(relation_from("lt"))),
        sympy.floor: _rounded(lambda a, b: a // b, "floor"),
        sympy.ceiling: _rounded(ceildiv, "ceil"),
        sympy.Piecewise: _piecewise,
        sympy.core.function.AppliedUndef: lambda e, convert: function(e.func.__name__, *map(convert, e.args)),
    },
)
"""sympy's own classes. Floats through it are for display: sympy reorders and merges them."""
