"""Laws of terms on every small case: residues, intervals of operators, canonical forms of nested terms."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product

from dynamo_lite.symbolic_shapes import (
    Symbol,
    as_int,
    eq,
    evaluate,
    int_truediv,
    ite,
    maximum,
    ne,
    power,
    round_float,
    to_float,
)
from dynamo_lite.symbolic_shapes.expressions.expr import Apply
from dynamo_lite.symbolic_shapes.expressions.float_relations import compare
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval, declared, interval, of_apply, truth_interval
from dynamo_lite.symbolic_shapes.expressions.piecewise import function
from dynamo_lite.symbolic_shapes.expressions.relations import not_
from dynamo_lite.symbolic_shapes.expressions.substitution import AT_ZERO
from dynamo_lite.symbolic_shapes.proofs.congruences import NOTHING, Residue, add, meet, mul, normal, residue
from tests.symbolic_shapes.oracle import Term, check_value_preserved

WINDOW = range(-40, 41)
RESIDUES: list[Residue] = [(m, r) for m in range(1, 7) for r in range(m)] + [(0, r) for r in range(-3, 4)]


def contains(residue: Residue, value: int) -> bool:
    m, r = residue
    return value % m == r if m else value == r


def values(residue: Residue) -> list[int]:
    return [v for v in WINDOW if contains(residue, v)]


def test_sums_and_products_of_residues_contain_every_value_and_are_as_sharp_as_a_residue_can_be() -> None:
    for a, b in product(RESIDUES, repeat=2):
        left, right = values(a)[:7], values(b)[:7]
        for both, results in ((add(a, b), {x + y for x in left for y in right}),
                              (mul(a, b), {x * y for x in left for y in right})):
            assert all(contains(both, v) for v in results), (a, b, both)
            assert both == normal(*both)
        sums = {x + y for x in left for y in right}
        sharp = add(a, b)[0]
        assert len(sums) == 1 if not sharp else any((x - y) % (2 * sharp) for x in sums for y in sums), (a, b)


def test_a_residue_has_its_least_representative() -> None:
    assert [normal(m, r) for m, r in ((4, -1), (4, 7), (0, -5), (1, 3))] == [(4, 3), (4, 3), (0, -5), (1, 0)]


def test_meeting_residues_is_being_in_both() -> None:
    for a, b in product(RESIDUES, repeat=2):
        met, both = meet(a, b), {v for v in WINDOW if contains(a, v) and contains(b, v)}
        if met is None:
            assert not both, (a, b)
        else:
            assert met == normal(*met) and both == set(values(met)), (a, b, met)


def test_the_residue_of_a_polynomial_contains_every_value() -> None:
    x, y = Symbol("x"), Symbol("y")
    polys = [x.as_int() * i + y.as_int() * j + x.as_int() * y.as_int() * k + c
             for i, j, k, c in product((0, 2, 3), (0, -4), (0, 1), (0, 5))]
    cases = [(a, b) for a in (NOTHING, (4, 1), (6, 0), (0, 3)) for b in (NOTHING, (3, 2), (0, -2))]
    for p, (a, b) in product(polys, cases):
        found = residue(p, {x: a, y: b}.__getitem__)
        for u, v in product(values(a)[:6], values(b)[:6]):
            value = p.const + sum(c * (u if x in m else 1) * (v if y in m else 1) for m, c in p.terms.items())
            assert contains(found, value), (p, a, b, found)
        if p.terms == {(x,): 2} and a == (6, 0):
            assert found == (12, p.const % 12)


# -- values of nested terms ---------------------------------------------------------------------------------------
VALUES = (-7, -4, -1, 0, 1, 2, 5)
POINTS = [dict(zip("xy", v)) for v in product(VALUES, repeat=2)]


def check(terms: Iterable[Term], lo: float = -math.inf, hi: float = math.inf) -> None:
    symbols = {name: Symbol(name, lo, hi).as_int() for name in "xy"}
    points = [p for p in POINTS if min(p.values()) >= lo and max(p.values()) <= hi]
    for term in terms:
        check_value_preserved(term, symbols, points)


def test_divisions_of_divisions_keep_their_value() -> None:
    inner = [("//", "x", a) for a in (2, 3, -2, "y", ("+", "y", 3))]
    inner += [("*", ("//", "x", 2), "y"), ("max", "x", "y"), ("*", ("//", "x", 3), ("//", "x", 3)), ("max", "x", 7919)]
    check(("//", ("+", ("*", k, term), c), b)
          for term, k, c, b in product(inner, (1, -1, 2, -3), (0, 1, -2, "y"), (2, 5, -3)))


def test_quotients_of_numbers_are_pythons() -> None:
    check((op, a, b) for op, a, b in product(("//", "%", "ceildiv"), range(-7, 8), range(-4, 5)))
    unknown = Symbol("x").as_int() // 2 + AT_ZERO
    assert unknown // 3 is not unknown and (AT_ZERO + 1) // 2 is not AT_ZERO  # x // 0 is a number like others


def test_quotients_of_sums_keep_their_value() -> None:
    def line(name: str, k: int, c: int) -> Term:
        return ("+", ("*", k, name), c)

    check(("//", line("x", a, b), line("y", c, d))
          for a, b, c, d in product((2, 3, -4), (0, 2, 6), (2, 4, -6), (0, 4, -2)))
    check((op, line("x", a, b), line("x", c, d))
          for op, a, b, c, d in product(("//", "%"), (1, -2, 6), (0, 3), (1, 2, -3), (0, 1, -2)))


def test_what_a_numerator_and_a_divisor_share_may_be_cancelled_if_it_is_not_zero() -> None:
    x2, xy = ("*", "x", "x"), ("*", "x", "y")
    tops = [xy, x2, ("*", x2, "y"), ("+", xy, "x"), ("+", x2, xy), ("+", xy, 3), ("*", 6, xy), ("-", x2, xy),
            ("+", x2, "x"), 0]
    divisors = ["x", xy, x2, ("+", x2, "x"), ("+", xy, "x"), ("+", xy, 1), ("*", 4, "x"), ("-", "x", xy), ("+", x2, xy),
                ("*", x2, "y")]
    for lo, hi in ((-math.inf, math.inf), (1, math.inf), (-math.inf, 0), (0, math.inf)):
        check(((op, top, by) for op, top, by in product(("//", "%"), tops, divisors)), lo, hi)


# -- intervals of operators ---------------------------------------------------------------------------------------
INF = math.inf
INTERVALS: list[Interval] = [(-INF, INF), (-3, -1), (-2, 0), (0, 0), (0, 1), (0, 2), (1, 3), (2, 2), (-2, 2),
                             (2, INF), (-INF, -1), (-INF, 0), (0, INF)]


def inside(ends: Interval) -> list[int]:
    """Values of an interval; of an infinite one those near zero, and some far away."""
    lo, hi = ends
    far = [-1000, -100, 100, 1000] if INF in (hi, -lo) else []
    return [v for v in [*range(-7, 8), *far] if lo <= v <= hi]


def test_the_interval_of_an_operator_contains_every_value_and_ends_where_they_end() -> None:
    x, y = Symbol("x"), Symbol("y")
    a, b = x.as_int(), y.as_int()
    nodes = [a // b, (a * 2 - 1) // b, maximum(a, b), ite(a <= b, a - 5, b + 5), ite(eq(a, 1), a, b), power(a, b),
             a // 3, round_float("floor", int_truediv(a, b)), round_float("trunc", to_float(a)), a * b, a * a * b,
             a * a - b, maximum(a, 5 - a), maximum(a, -a - 5), maximum(a, b, 3)]
    for node, left, right in product(nodes, INTERVALS, INTERVALS):
        ranges = {x: left, y: right}
        lo, hi = interval(node, lambda atom, r=ranges: r.get(atom) or of_apply(atom, r.__getitem__))  # type: ignore
        found = []
        for u, v in product(inside(left), inside(right)):
            try:
                found.append(evaluate(node, {x: u, y: v}))
            except (ZeroDivisionError, ValueError):
                continue
        assert all(lo <= value <= hi for value in found), (node, ranges, lo, hi)
        finite = INF not in (left[1], right[1], -left[0], -right[0])
        if finite and found and node in (a // b, maximum(a, b), a // 3) and not (node is a // b and 0 in inside(right)):
            assert (lo, hi) == (min(found), max(found)), (node, ranges)


def test_ends_that_no_float_can_be_are_exact() -> None:
    """An infinite end is a float: put into arithmetic with 2**1100 it would overflow."""
    x, y, big = Symbol("x"), Symbol("y"), 2**1100
    a, b = x.as_int(), y.as_int()
    huge: list[Interval] = [(big, INF), (-INF, -big), (-big, 3), (0, INF), (-INF, INF), (5, 5), (0, 0), (1, big + 1)]
    for node in (a + b, a - b, a * 2 + big, a * b, a * a * b - big, a // b, (a + big) // b, maximum(a, b + big)):
        for left, right in product(huge, repeat=2):
            ranges = {x: left, y: right}
            lo, hi = interval(node, lambda atom, r=ranges: r.get(atom) or of_apply(atom, r.__getitem__))  # type: ignore
            assert type(lo) is int or lo == -INF, (node, ranges)
            for u, v in product((-2 * big, -big, -1, 0, 1, 2, 3, 5, big, big + 1, 3 * big), repeat=2):
                if left[0] <= u <= left[1] and right[0] <= v <= right[1] and v:
                    assert lo <= evaluate(node, {x: u, y: v}) <= hi, (node, ranges, u, v)
    assert interval(a * b, {x: (big, INF), y: (3, 3)}.__getitem__) == (3 * big, INF)
    assert interval(a + b, {x: (big, INF), y: (3, big)}.__getitem__) == (big + 3, INF)
    assert interval(a * b, {x: (0, INF), y: (0, big)}.__getitem__) == (0, INF)
    power_of_two = power(as_int(2), b).as_atom()
    assert isinstance(power_of_two, Apply)
    assert of_apply(power_of_two, {y: (50_000, 50_001)}.__getitem__)[0] <= 2**50_000
    assert interval(a * a, {x: (-3, -2)}.__getitem__) == (4, 9)
    assert interval(a * a, {x: (-3, 2)}.__getitem__) == (0, 9)


def test_an_operator_without_a_law_may_have_any_value() -> None:
    x = Symbol("x", 0, 7).as_int()
    assert declared(function("bitand", x, as_int(3)) + 1) == (-INF, INF)


def test_ends_that_crossed_are_no_error() -> None:
    """Under an assumption that is being refuted they do: whatever is said of no value at all is right."""
    x, y = Symbol("x"), Symbol("y")
    a, b = x.as_int(), y.as_int()
    crossed: list[Interval] = [(1, 0), (0, -1), (3, -2), (INF, 2), (2, -INF)]
    nodes = (a // b, maximum(a, b), power(a, b), ite(a <= b, a, b), round_float("floor", int_truediv(a, b)), a * a * b)
    for node, left, right in product(nodes, [*crossed, (1, 4)], crossed):
        ranges = {x: left, y: right}
        interval(node, lambda atom, r=ranges: r.get(atom) or of_apply(atom, r.__getitem__))  # type: ignore


def test_what_intervals_say_of_a_proposition_is_so() -> None:
    x, y = Symbol("x"), Symbol("y")
    a, b = x.as_int(), y.as_int()
    quotient = int_truediv(a, b)
    propositions = [a <= b, a < b, eq(a, b), ne(a, b), eq(a, 2), (a <= 1) & (b >= 1), (a < 0) | (b < 0),
                    compare("lt", quotient, 0.5), compare("le", quotient, 1.0), compare("eq", to_float(a) * 0.5, 1.0),
                    not_(compare("le", quotient, -1.0)), compare("lt", to_float(a), to_float(b) * 1.5)]
    known = 0
    for proposition, left, right in product(propositions, INTERVALS, INTERVALS):
        truth = truth_interval(proposition, {x: left, y: right}.__getitem__)
        if truth is None:
            continue
        known += 1
        for u, v in product(inside(left), inside(right)):
            try:
                assert evaluate(proposition, {x: u, y: v}) is truth, (proposition, left, right, u, v)
            except ZeroDivisionError:
                continue
    assert known > 300
