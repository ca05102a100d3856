"""Refutation of linear systems over the integers: Gauss on equations, then Fourier-Motzkin with gcd tightening.

A row is p <= 0 or p == 0 for a polynomial p whose monomials count as variables. Each derived row is divided by the gcd
of its coefficients with the constant rounded up, which is where it is stronger than elimination over the rationals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from dynamo_lite.symbolic_shapes.expressions.expr import Int, Monomial, make_int
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, Rel, eq_zero, le_zero
from dynamo_lite.symbolic_shapes.proofs.proof import Step

MAX_ROWS = 60
MAX_COMBINATIONS = 200
MAX_COEFFICIENT = 10**12


@dataclass(slots=True)
class Row:
    """terms . monomials + const <= 0 (or == 0), shown by `step`."""

    terms: dict[Monomial, int]
    const: int
    equation: bool
    step: Step


class Found(Exception):
    """A row without variables that cannot hold."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step


def row_of(p: Int, step: Step, equation: bool = False) -> Row:
    """The row of p <= 0 or p == 0 as rules state it: in canonical form."""
    relation = eq_zero(p) if equation else le_zero(p)
    if isinstance(relation, Rel):
        p = relation.poly
    elif relation is FALSE:
        raise Found(step)
    return Row(p.terms, p.const, equation, step)


def refute_rows(rows: Iterable[Row], count: list[int]) -> Step | None:
    """A step that concludes FALSE from the rows, or None. `count[0]` is increased by the combinations made."""
    try:
        return _eliminate(_gauss([row for row in rows if row.terms], count), count)
    except Found as found:
        return found.step


def _combine(a: Row, ka: int, b: Row, kb: int, equation: bool, count: list[int]) -> Row | None:
    """ka*a + kb*b, normalised; None if it is trivial; Found if it cannot hold."""
    count[0] += 1
    terms = {m: c * ka for m, c in a.terms.items()}
    for mono, c in b.terms.items():
        value = terms.get(mono, 0) + c * kb
        if value:
            terms[mono] = value
        else:
            terms.pop(mono, None)
    const = a.const * ka + b.const * kb
    if equation:
        step = Step("equation", (a.step, b.step), ((ka, kb),))
    else:
        step = Step("linear", (a.step, b.step), ((ka, kb), 0))
    if not terms:
        if const > 0 or (equation and const):
            raise Found(step)
        return None
    g = math.gcd(*terms.values())
    if g > 1:
        if equation and const % g:
            raise Found(step)
        terms = {m: c // g for m, c in terms.items()}
        const = -(-const // g)
    if equation:  # with the sign of the step's claim: rows derived from this one refer to that
        return row_of(make_int(terms, const), step, equation=True)
    return Row(terms, const, equation, step)


def _gauss(rows: list[Row], count: list[int]) -> list[Row]:
    """Use each equation to remove one variable from the other rows."""
    equations = [r for r in rows if r.equation]
    others = [r for r in rows if not r.equation]
    kept: list[Row] = []
    while equations:
        equation = min(equations, key=lambda r: (min(map(abs, r.terms.values())), len(r.terms)))
        equations = [r for r in equations if r is not equation]
        mono, a = min(equation.terms.items(), key=lambda t: (abs(t[1]), -len(t[0]), -t[0][0].id))
        if abs(a) > 1:
            kept += [equation]  # over the integers it is stronger than the rows it is used on
        equations = [r for r in (_without(r, mono, equation, a, count) for r in equations) if r]
        others = [r for r in (_without(r, mono, equation, a, count) for r in others) if r]
        if count[0] > MAX_COMBINATIONS:
            break
    return others


def _without(row: Row, mono: Monomial, equation: Row, a: int, count: list[int]) -> Row | None:
    b = row.terms.get(mono)
    if b is None:
        return row
    g = math.gcd(a, b)
    k = abs(a) // g  # positive, so an inequality stays one
    return _combine(row, k, equation, -b // g if a > 0 else b // g, row.equation, count)


def _eliminate(rows: list[Row], count: list[int]) -> Step | None:
    table: dict[frozenset[tuple[Monomial, int]], Row] = {}
    for row in rows:
        _keep(table, row, count)
    while table and count[0] < MAX_COMBINATIONS:
        mono = _cheapest(table)
        if mono is None:
            return None
        above, below, rest = [], [], {}
        for key, row in table.items():
            c = row.terms.get(mono, 0)
            if c > 0:
                above.append(row)
            elif c < 0:
                below.append(row)
            else:
                rest[key] = row
        table = rest
        for up in above:
            for low in below:
                a, b = up.terms[mono], -low.terms[mono]
                g = math.gcd(a, b)
                sum_ = _combine(up, b // g, low, a // g, False, count)
                if sum_ is not None and max(map(abs, sum_.terms.values())) <= MAX_COEFFICIENT:
                    _keep(table, sum_, count)
        if len(table) > MAX_ROWS:
            return None
    return None


def _keep(table: dict[frozenset[tuple[Monomial, int]], Row], row: Row, count: list[int]) -> None:
    """Only the tightest row of each left side; opposite rows that exclude each other are a contradiction."""
    key = frozenset(row.terms.items())
    old = table.get(key)
    if old is not None and old.const >= row.const:
        return
    table[key] = row
    opposite = table.get(frozenset((m, -c) for m, c in row.terms.items()))
    if opposite is not None and opposite.const + row.const > 0:
        _combine(row, 1, opposite, 1, False, count)


def _cheapest(table: dict[frozenset[tuple[Monomial, int]], Row]) -> Monomial | None:
    """The variable whose elimination loses nothing, else adds the fewest rows.

    It is exact over the integers if all the coefficients of one sign are ±1 (Pugh's Omega test): between
    a*x >= p and x <= q there is an integer x whenever a*q >= p."""
    above: dict[Monomial, list[int]] = {}
    below: dict[Monomial, list[int]] = {}
    for row in table.values():
        for mono, c in row.terms.items():
            (above if c > 0 else below).setdefault(mono, []).append(c)

    def cost(mono: Monomial) -> tuple[bool, int]:
        up, low = above.get(mono, []), below.get(mono, [])
        exact = not up or not low or max(up) == 1 or min(low) == -1
        return not exact, len(up) * len(low) - len(up) - len(low)

    return min({**above, **below}, key=cost, default=None)
