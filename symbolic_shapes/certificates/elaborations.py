"""Rules of `symbolic_shapes/proofs` by fewer ones: the checker of files stays small.

Each is (write, premises, data, claim) -> the step that shows the claim; `write(rule, premises, data, claim)` adds one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.relations import (
    FALSE,
    TRUE,
    Bool,
    Junction,
    Rel,
    eq_zero,
    le_zero,
    ne_zero,
    not_,
    or_,
)
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.bound_rules import ranges_from

Written = tuple[int, Any]
"""The number of a step, and what it shows."""
Write = Callable[[str, Sequence[Written], tuple[Any, ...], Any], Written]
Elaboration = Callable[[Write, Sequence[Written], tuple[Any, ...], Any], Written]


def _assumed(write: Write, relation: Bool) -> Written:
    return write("assume", (), (relation,), relation)


def _clash(write: Write, one: Written, other: Written, k: int = 1) -> Written:
    """Two inequalities whose sum is a positive number; the second may be an equation times k."""
    return write("linear", [one, other], ((1, k), 0), FALSE)


def _transitive(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
    a, b, c = data
    factors = tuple(_factor(p - q, shown) for p, q, (_, shown) in ((a, b, premises[0]), (b, c, premises[1])))
    return write("equation", premises, (factors,), claim)


def _factor(p: Any, equation: Any) -> int:
    """k with p == k * q for the equation q == 0 that p == 0 is written as."""
    if not isinstance(equation, Rel):
        return 1
    mono, k = next(iter(equation.poly.terms.items()))
    return int(p.terms[mono] // k)


def _apart(write: Write, shown: Written, p: Any) -> tuple[Written, tuple[Bool, Bool]]:
    """From p != 0: p <= -1 or p >= 1."""
    parts = (le_zero(p + 1), le_zero(1 - p))
    return write("apart", [shown], (), or_(*parts)), parts


def _both(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
    """p <= 0 and p >= 0: p != 0 would be one of p <= -1 and p >= 1."""
    if FALSE in (premises[0][1], premises[1][1]):
        return write("either", [premises[0] if premises[0][1] is FALSE else premises[1]], (claim,), claim)
    p = premises[0][1].poly
    other = _assumed(write, ne_zero(p))
    whole, parts = _apart(write, other, p)
    below = _clash(write, _assumed(write, parts[0]), premises[1], 1)
    above = _clash(write, _assumed(write, parts[1]), premises[0], 1)
    contradiction = write("cases", [whole, below, above], parts, FALSE)
    return write("refute", [contradiction], (ne_zero(p),), claim)


def _tighten(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
    """p <= 0 and p != 0: of p <= -1 and p >= 1 the first is left."""
    if premises[0][1] is FALSE:
        return write("either", [premises[0]], (claim,), claim)
    p = premises[0][1].poly
    whole, parts = _apart(write, premises[1], p)
    above = _clash(write, _assumed(write, parts[1]), premises[0], 1)
    return write("cases", [whole, _assumed(write, parts[0]), above], parts, claim)


def _strictly(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
    """p <= -1: p == 0 would be a contradiction."""
    (p,) = data
    if claim is TRUE:
        return write("normal form", (), (), TRUE)
    if premises[0][1] is FALSE:
        return write("either", [premises[0]], (claim,), claim)
    equal = eq_zero(p)
    assert isinstance(equal, Rel)
    bound = premises[0][1].poly
    mono, k = next(iter(bound.terms.items()))
    contradiction = _clash(write, premises[0], _assumed(write, equal), -(k // equal.poly.terms[mono]))
    return write("refute", [contradiction], (equal,), claim)


def _incongruent(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
    """m divides p - r and not r: p == 0 would make r a multiple of m."""
    (p,) = data
    congruence = premises[0][1]
    if claim is TRUE:
        return write("normal form", (), (), TRUE)
    equal = eq_zero(p)
    data = (p - congruence.poly, congruence.modulus, (-1, _factor(p, equal)))
    contradiction = write("congruent", [premises[0], _assumed(write, equal)], data, FALSE)
    return write("refute", [contradiction], (equal,), claim)


def _incongruent_difference(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
    (p, m), (q, _) = premises[0][1], premises[1][1]
    return write("congruent", premises, (p - q, m, (1, -1)), FALSE)


def _cases(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
    """With the cases, in the order of their premises."""
    whole = premises[0][1]
    parts = (data[0], not_(data[0])) if data else whole.args if isinstance(whole, Junction) else ()
    return write("cases", premises, parts, claim)


def _first(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
    return write("exact rounding", premises, data[:1], claim)


def _of_max(rule: str) -> Elaboration:
    """With the arguments themselves, not their places."""

    def elaborated(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
        atom, *places = data
        return write(rule, premises, (atom, *(atom.args[i] for i in places)), claim)

    return elaborated


def _shift(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
    """p in terms of t = atom - lo (or hi - atom) has no positive coefficient but the constant: products of t >= 0."""
    p, atoms = data
    ranges = ranges_from([shown for _, shown in premises])
    bounds = {atom: _lower_bound(write, premises, atom, ranges(atom)) for atom in atoms}
    shifts = {
        atom: atom.as_int() + lo if isinstance(lo, int) else hi - atom.as_int()
        for atom, (lo, hi) in ((atom, ranges(atom)) for atom in atoms)
    }
    shown, factors = [], []
    for mono, k in substitute(p, shifts).terms.items():
        product = bounds[mono[0]]
        for atom in mono[1:]:
            product = write("product", [product, bounds[atom]], (), le_zero(-(product[1].poly * bounds[atom][1].poly)))
        shown.append(product)
        factors.append(-k)
    return write("linear", shown, (tuple(factors), 0), claim)


def _lower_bound(write: Write, premises: Sequence[Written], atom: Any, ends: tuple[Any, Any]) -> Written:
    """The step that shows the lower end of an atom, or the upper one if it has no lower."""
    x, (lo, hi) = atom.as_int(), ends
    p, claim = (-x, le_zero(lo - x)) if isinstance(lo, int) else (x, le_zero(x - hi))
    return write("interval", premises, (p,), claim)


def _chinese(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
    """By numbers k_i with sum(k_i * lcm / m_i) == 1."""
    p, m = data
    moduli = [shown.modulus for _, shown in premises]
    whole = math.lcm(*moduli)
    factors, g = [1], whole // moduli[0]
    for modulus in moduli[1:]:
        part = whole // modulus
        a, b, g = _bezout(g, part)
        factors = [*(k * a for k in factors), b]
    scaled = tuple(k * (whole // modulus) for k, modulus in zip(factors, moduli))
    return write("congruent", premises, (p, m, scaled), claim)


def _bezout(x: int, y: int) -> tuple[int, int, int]:
    """(a, b, g) with a*x + b*y == g, their greatest common divisor."""
    if not y:
        return 1, 0, x
    a, b, g = _bezout(y, x % y)
    return b, a - x // y * b, g


def _normal_form(write: Write, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
    return write("normal form", (), (), claim)


ELABORATIONS: dict[str, Elaboration] = {
    "transitive": _transitive,
    "both": _both,
    "tighten": _tighten,
    "strictly": _strictly,
    "incongruent": _incongruent,
    "incongruent difference": _incongruent_difference,
    "cases": _cases,
    "exact rounding": _first,
    "max above": _of_max("max above"),
    "max without": _of_max("max without"),
    "shift": _shift,
    "chinese": _chinese,
    "normal form": _normal_form,
}
