"""A tiny expression language with three meanings: Python's ints, ours, z3's.

A term is a string (a variable), an int, a float, or a tuple (operator, *terms). Integer, float and boolean terms share
the type; "float", "f/", "f*", "f+", "f-" and "sqrt" make floats, "floor", "ceil", "trunc" and "to_even" ints of them.
In Python's meaning, `x // 0` is `at_zero`, any fixed integer: what canonical forms and proofs promise holds for each.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import dynamo_lite.symbolic_shapes as ours
from dynamo_lite.symbolic_shapes.expressions import evaluation
from dynamo_lite.symbolic_shapes.expressions.floats import apply_float

Term = Any

BINARY = ("+", "-", "*", "//", "%", "max", "min", "ceildiv")
COMPARE = ("<", "<=", "==", "!=", ">", ">=")


def floordiv_at(at_zero: int) -> Callable[[int, int], int]:
    """Floor division that is `at_zero` where Python raises."""
    return lambda x, d: x // d if d else at_zero


def python_table(at_zero: int) -> dict[str, Callable[..., Any]]:
    """operator -> its meaning on Python ints."""
    div = floordiv_at(at_zero)
    return {
        "+": operator.add, "-": operator.sub, "*": operator.mul, "//": div, "%": lambda x, d: x - d * div(x, d),
        "max": max, "min": min, "abs": abs, "ceildiv": lambda x, d: -div(-x, d), "neg": operator.neg,
        "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
        "and": lambda a, b: a and b, "or": lambda a, b: a or b, "not": operator.not_,
        "ite": lambda c, a, b: a if c else b, "pow": operator.pow, "round": round,
        "float": float, "f/": operator.truediv, "f*": operator.mul, "f+": operator.add, "f-": operator.sub,
        "sqrt": math.sqrt, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
        "to_even": round,
    }


def _comparison(of_ints: Callable[..., Any], of_floats: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: of_floats(a, b) if isinstance(a, ours.Float) or isinstance(b, ours.Float) else of_ints(a, b)


OURS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "max": ours.maximum, "min": ours.minimum, "abs": abs, "ceildiv": ours.ceildiv, "neg": operator.neg,
    "<": _comparison(ours.lt, partial(ours.compare_floats, "lt")),
    "<=": _comparison(ours.le, partial(ours.compare_floats, "le")),
    "==": _comparison(ours.eq, partial(ours.compare_floats, "eq")),
    "!=": _comparison(ours.ne, lambda a, b: ~ours.compare_floats("eq", a, b)),
    ">": _comparison(ours.gt, lambda a, b: ours.compare_floats("lt", b, a)),
    ">=": _comparison(ours.ge, lambda a, b: ours.compare_floats("le", b, a)),
    "and": ours.and_, "or": ours.or_, "not": ours.not_, "ite": ours.ite, "pow": ours.power,
    "round": lambda x, digits: ours.round_int(x, digits.const),
    "f/": lambda a, b: ours.int_truediv(a, b) if isinstance(a, ours.Int) and isinstance(b, ours.Int)
    else ours.as_float(a) / ours.as_float(b),
    "float": ours.to_float, "f*": lambda a, b: ours.as_float(a) * ours.as_float(b),
    "f+": lambda a, b: ours.as_float(a) + ours.as_float(b), "f-": lambda a, b: ours.as_float(a) - ours.as_float(b),
    "sqrt": lambda x: apply_float("sqrt", ours.as_float(x)),
    "floor": lambda x: ours.round_float("floor", x), "ceil": lambda x: ours.round_float("ceil", x),
    "trunc": lambda x: ours.round_float("trunc", x), "to_even": lambda x: ours.round_float("round", x),
}


def python_value(term: Term, values: Mapping[str, int], table: Mapping[str, Callable[..., Any]]) -> Any:
    """The term's value on Python ints."""
    if isinstance(term, str):
        return values[term]
    if isinstance(term, (int, float)):
        return term
    return table[term[0]](*(python_value(t, values, table) for t in term[1:]))


def our_node(term: Term, symbols: Mapping[str, ours.Int]) -> Any:
    """The term in our language. ZeroDivisionError for a constant zero divisor."""
    if isinstance(term, str):
        return symbols[term]
    if isinstance(term, int):
        return ours.as_int(term)
    if isinstance(term, float):
        return ours.float_const(term)
    return OURS[term[0]](*(our_node(t, symbols) for t in term[1:]))


def our_value(node: ours.Node, values: Mapping[Any, int], at_zero: int) -> Any:
    """What our node is worth, with `x // 0` == at_zero."""
    saved = evaluation.INT_OPERATORS["floordiv"]
    evaluation.INT_OPERATORS["floordiv"] = floordiv_at(at_zero)
    try:
        return ours.evaluate(node, values)
    finally:
        evaluation.INT_OPERATORS["floordiv"] = saved


def z3_term(term: Term, names: dict[str, Any], at_zero: Any) -> Any:
    """The term in z3: Python's floor division from z3's Euclidean one; `x // 0` is the unknown `at_zero`."""
    import z3

    if isinstance(term, str):
        return names.setdefault(term, z3.Int(term))
    if isinstance(term, int):
        return z3.IntVal(term)
    if isinstance(term, float):
        raise KeyError("floats have no exact meaning in z3's reals")
    args = [z3_term(t, names, at_zero) for t in term[1:]]

    def div(x: Any, d: Any) -> Any:
        return z3.If(d == 0, at_zero, z3.If(d > 0, x / d, (-x) / (-d)))

    table: dict[str, Callable[..., Any]] = {
        **{op: python_table(0)[op] for op in ("+", "-", "*", "<", "<=", "==", "!=", ">", ">=", "neg")},
        "//": div, "%": lambda x, d: x - d * div(x, d), "ceildiv": lambda x, d: -div(-x, d),
        "max": lambda a, b: z3.If(a >= b, a, b), "min": lambda a, b: z3.If(a <= b, a, b),
        "abs": lambda a: z3.If(a >= 0, a, -a), "and": z3.And, "or": z3.Or, "not": z3.Not, "ite": z3.If,
    }
    return table[term[0]](*args)


# -- all small terms ----------------------------------------------------------------------------------------
def shallow_terms(leaves: tuple[Term, ...], binary: tuple[str, ...] = BINARY) -> Iterator[Term]:
    """Each operator on each pair of leaves."""
    yield from itertools.product(binary, leaves, leaves)


def deeper_terms(leaves: tuple[Term, ...], outer: tuple[str, ...], inner: tuple[str, ...]) -> Iterator[Term]:
    """Each outer operator with a shallow term on the left and a leaf on the right, and mirrored."""
    shallow = list(shallow_terms(leaves, inner))
    for op, term, leaf in itertools.product(outer, shallow, leaves):
        yield (op, term, leaf)
        yield (op, leaf, term)


def assignments(names: str, domain: range) -> list[dict[str, int]]:
    """Every assignment of values of the domain to the one-letter names."""
    return [dict(zip(names, values)) for values in itertools.product(domain, repeat=len(names))]


AT_ZERO = (0, -3, 5)


class Mismatch(AssertionError):
    """The canonical form of a term has another value than the term."""


def check_value_preserved(term: Term, symbols: Mapping[str, ours.Int], points: list[dict[str, int]]) -> None:
    """The canonical form is worth what the term is worth, at every point and for every value of x // 0."""
    try:
        node = our_node(term, symbols)
    except ZeroDivisionError:
        return  # a constant zero divisor: Python raises at every point
    for at_zero in AT_ZERO:
        table = python_table(at_zero)
        for point in points:
            values = {symbols[name].as_atom(): value for name, value in point.items()}
            expected, got = python_value(term, point, table), our_value(node, values, at_zero)
            if expected != got:
                raise Mismatch(f"{term} at {point} with x//0 == {at_zero}: {expected}, canonical {node} gives {got}")
