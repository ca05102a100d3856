"""Laws of terms on every small case: residues, intervals of operators, canonical forms of nested terms."""

from __future__ import annotations

from itertools import product

from symbolic_shapes import Symbol
from symbolic_shapes.congruences import NOTHING, Residue, add, meet, mul, normal, residue

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
