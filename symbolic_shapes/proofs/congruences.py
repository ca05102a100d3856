"""Residues of a value modulo something: (m, r) means value ≡ r (mod m), 0 <= r < m; (0, r) means value == r."""

from __future__ import annotations

import math
from collections.abc import Callable

from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int

Residue = tuple[int, int]
NOTHING: Residue = (1, 0)


def normal(m: int, r: int) -> Residue:
    """The residue with a representative in [0, m)."""
    return (m, r % m) if m else (0, r)


def add(a: Residue, b: Residue) -> Residue:
    """(r1 + m1 i) + (r2 + m2 j): only their gcd is sure to divide the difference from r1 + r2."""
    return normal(math.gcd(a[0], b[0]), a[1] + b[1])


def mul(a: Residue, b: Residue) -> Residue:
    """(r1 + m1 i)(r2 + m2 j) == r1 r2 + r1 m2 j + r2 m1 i + m1 m2 i j."""
    (m1, r1), (m2, r2) = a, b
    return normal(math.gcd(r1 * m2, r2 * m1, m1 * m2), r1 * r2)


def meet(a: Residue, b: Residue) -> Residue | None:
    """Both at once (Chinese remainder); None if they contradict each other."""
    (m1, r1), (m2, r2) = a, b
    if not m1 or not m2:
        if not m1 and not m2:
            return a if r1 == r2 else None
        m, r, exact = (m2, r2, r1) if not m1 else (m1, r1, r2)
        return (0, exact) if exact % m == r else None
    g = math.gcd(m1, m2)
    if (r1 - r2) % g:
        return None
    lcm = m1 // g * m2
    # r1 + m1 * k ≡ r2 (mod m2)  <=>  k ≡ (r2 - r1)/g * (m1/g)^-1 (mod m2/g)
    k = (r2 - r1) // g * pow(m1 // g, -1, m2 // g) if m2 // g > 1 else 0
    return normal(lcm, r1 + m1 * k)


def residue(p: Int, of_atom: Callable[[Atom], Residue]) -> Residue:
    """The residue of a polynomial from those of its atoms."""
    result: Residue = (0, p.const)
    for mono, coef in p.terms.items():
        part: Residue = (0, coef)
        for atom in mono:
            part = mul(part, of_atom(atom))
        result = add(result, part)
        if result[0] == 1:
            return NOTHING
    return result
