"""Exact integer intervals: for every assignment within the ranges of the atoms, lo <= value <= hi.

An end is an int, or -inf / inf. Infinite ends are floats, which only ever get compared: Python compares an
int of any size with inf exactly, but converts it (and may overflow) in arithmetic.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product

from dynamo_lite.symbolic_shapes.expressions.expr import INF, Apply, Atom, Extended, Int
from dynamo_lite.symbolic_shapes.expressions.floats import Float, float_interval, floor_of_float
from dynamo_lite.symbolic_shapes.expressions.nodes import OPERATIONS
from dynamo_lite.symbolic_shapes.expressions.relations import FloatRelation, Junction, Rel, Truth

Interval = tuple[Extended, Extended]
Ranges = Callable[[Atom], Interval]
ANY: Interval = (-INF, INF)
BIT_LIMIT = 4096
"""Powers with more bits than this are not computed: their bound is inf (sound, and no memory bomb)."""


def end_add(x: Extended, y: Extended) -> Extended:
    """Sum of two ends of the same side (so never inf + -inf)."""
    if type(x) is float:
        return x
    return y if type(y) is float else x + y


def end_mul(x: Extended, y: Extended) -> Extended:
    """Product of two ends, with 0 * inf == 0: the end is a limit of products of finite numbers, each 0."""
    if not x or not y:
        return 0
    if type(x) is float or type(y) is float:
        return INF if (x > 0) == (y > 0) else -INF
    return x * y


def mul(a: Interval, b: Interval) -> Interval:
    corners = (end_mul(a[0], b[0]), end_mul(a[0], b[1]), end_mul(a[1], b[0]), end_mul(a[1], b[1]))
    return min(corners), max(corners)


def int_power(a: Interval, n: int) -> Interval:
    """The interval of x**n for one x (n >= 1): an even power is never negative, which a product does not know."""
    ends = tuple(_end_power(end, n) for end in a)
    if n % 2:
        return ends[0], ends[1]
    if a[0] <= 0 <= a[1]:
        return 0, max(ends)
    return min(ends), max(ends)


def _end_power(x: Extended, n: int) -> Extended:
    result: Extended = 1
    for _ in range(n):
        result = end_mul(result, x)
    return result


def of_monomial(mono: tuple[Atom, ...], ranges: Ranges) -> Interval:
    """The interval of a product of atoms."""
    if len(mono) == 1:
        return ranges(mono[0])
    result: Interval = (1, 1)
    for atom in dict.fromkeys(mono):
        result = mul(result, int_power(ranges(atom), mono.count(atom)))
    return result


def interval(p: Int, ranges: Ranges) -> Interval:
    """The interval of a polynomial, term by term."""
    lo: Extended = p.const
    hi: Extended = p.const
    for mono, coef in p.terms.items():
        a, b = ranges(mono[0]) if len(mono) == 1 else of_monomial(mono, ranges)
        if coef < 0:
            a, b = b, a
        lo = end_add(lo, end_mul(a, coef))
        hi = end_add(hi, end_mul(b, coef))
    return lo, hi


# -- atoms ------------------------------------------------------------------------------------------------
def end_floordiv(x: Extended, d: Extended) -> Extended:
    """Limit of x // d for d != 0; x / inf is 0 from the side of its sign, so -1 after the floor if negative."""
    if type(x) is float:
        return x if d > 0 else -x
    if type(d) is float:
        return 0 if x == 0 or (x > 0) == (d > 0) else -1
    return operator.floordiv(x, d)


def _floordiv(atom: Apply, ranges: Ranges) -> Interval:
    # x // d is monotone in x for fixed d, and in d on each side of zero for fixed x: the corners bound it, for d != 0.
    x, d = _of_difference(atom.args[0], ranges), interval(atom.args[1], ranges)  # type: ignore[arg-type]
    if d[0] <= 0 <= d[1] or 0 in d:  # 0 at one end of an empty interval: facts that are about to clash
        return ANY
    # inf / inf may be left out: one end of d is finite, so the corners beside it cover its values.
    corners = [end_floordiv(a, b) for a, b in product(x, d) if type(a) is int or type(b) is int]
    return (min(corners), max(corners)) if corners else ANY


def _of_difference(p: Int, ranges: Ranges) -> Interval:
    """The interval of a polynomial, where a maximum in it is at least each of its arguments: n - min(n, m) >= 0."""
    lo, hi = interval(p, ranges)
    for mono, coef in p.terms.items():
        if lo != -INF and hi != INF:
            break
        atom = mono[0]
        if len(mono) == 1 and isinstance(atom, Apply) and atom.op == "max" and (lo if coef > 0 else -hi) == -INF:
            ends = [interval(p + (arg - atom.as_int()) * coef, ranges) for arg in atom.args]  # type: ignore[operator]
            lo, hi = (max(a for a, _ in ends), hi) if coef > 0 else (lo, min(b for _, b in ends))
    return lo, hi


def _max(atom: Apply, ranges: Ranges) -> Interval:
    parts = [interval(arg, ranges) for arg in atom.args]  # type: ignore[arg-type]
    lo = max(p[0] for p in parts)
    if len(parts) == 2:
        both = atom.args[0] + atom.args[1]  # type: ignore[operator]
        if not both.terms:  # the greater of two is at least half of their sum: |x| >= 0
            lo = max(lo, -(-both.const // 2))
    return lo, max(p[1] for p in parts)


def _ite(atom: Apply, ranges: Ranges) -> Interval:
    cond, a, b = atom.args
    then, other = interval(a, ranges), interval(b, ranges)  # type: ignore[arg-type]
    truth = truth_interval(cond, ranges)
    if truth is not None:
        return then if truth else other
    return min(then[0], other[0]), max(then[1], other[1])


def truth_interval(cond: object, ranges: Ranges) -> bool | None:
    """The truth of a proposition by intervals alone."""
    if isinstance(cond, Truth):
        return cond.value
    if isinstance(cond, Rel):
        lo, hi = interval(cond.poly, ranges)
        if cond.kind == "le":
            return True if hi <= 0 else False if lo > 0 else None
        apart = lo > 0 or hi < 0
        if apart or lo == hi:
            return apart == (cond.kind == "ne")
    if isinstance(cond, FloatRelation):
        return OPERATIONS["opaque_truth"](cond, lambda p: interval(p, ranges))
    if isinstance(cond, Junction):
        parts = [truth_interval(a, ranges) for a in cond.args]
        decisive = cond.kind == "or"
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    return None


def _power(atom: Apply, ranges: Ranges) -> Interval:
    # Monotone in both places for base >= 1, exponent >= 0. A negative exponent has no integer value (arbitrary).
    base, exponent = interval(atom.args[0], ranges), interval(atom.args[1], ranges)  # type: ignore[arg-type]
    if base[0] < 0 or min(exponent) < 0:  # (ends that crossed: an assumption that is being refuted)
        return ANY
    if base[0] < 1:
        if base[1] < 1 <= exponent[0]:
            return 0, 0
        return 0, max(1, _big_power(base[1], exponent[1]))  # 0**0 == 1
    lo = _big_power(base[0], exponent[0])
    return (lo if type(lo) is int else 1), _big_power(base[1], exponent[1])


def _big_power(x: Extended, n: Extended) -> Extended:
    if x == 1 or n == 0:
        return 1
    if type(x) is int and type(n) is int and x.bit_length() * n <= BIT_LIMIT:
        return operator.pow(x, n)
    return INF


def _from_float(atom: Apply, ranges: Ranges) -> Interval:
    value = atom.args[0]
    assert isinstance(value, Float)
    lo, hi = float_interval(value, lambda p: interval(p, ranges))
    return floor_of_float(atom.op, lo), floor_of_float(atom.op, hi)


ATOM_INTERVALS: dict[str, Callable[[Apply, Ranges], Interval]] = {
    "floordiv": _floordiv,
    "max": _max,
    "ite": _ite,
    "pow": _power,
    "floor": _from_float,
    "ceil": _from_float,
    "trunc": _from_float,
    "round": _from_float,
}
"""How to bound each operator from the intervals of its arguments; an operator that is not here is unbounded."""


def of_apply(atom: Apply, ranges: Ranges) -> Interval:
    """The interval of a compound atom from the intervals of its parts."""
    rule = ATOM_INTERVALS.get(atom.op)
    return rule(atom, ranges) if rule else ANY


def declared_atom(atom: Atom) -> Interval:
    """The range that follows from the declared ranges of the symbols alone."""
    found = atom._declared
    if found is None:
        assert isinstance(atom, Apply)
        found = atom._declared = of_apply(atom, declared_atom)
    return found


def declared(p: Int) -> Interval:
    """Like `declared_atom`, of a polynomial. Canonical forms may rely on it: it never changes."""
    found = p._declared
    if found is None:
        found = p._declared = interval(p, declared_atom)
    return found


def is_declared_nonzero(p: Int) -> bool:
    """Whether p != 0 for every value in the declared ranges."""
    lo, hi = declared(p)
    return lo > 0 or hi < 0
