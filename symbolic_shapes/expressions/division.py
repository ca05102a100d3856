"""Laws of floor division. Each law is beside its side condition; all are Python's floor division.

`floordiv(p, d)` returns the canonical form of p // d: whole multiples of the divisor are taken out, numerator and
divisor share no factor, a constant divisor is positive, and with one the leading coefficient of the numerator is
positive and every remaining coefficient is smaller than the divisor.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Atom, Int, Monomial, as_int, make_apply, make_int
from dynamo_lite.symbolic_shapes.expressions.intervals import is_declared_nonzero


# -- side conditions ----------------------------------------------------------------------------------------
# A table, so that the tests can switch each one off and see a wrong answer (mutation tests).
def _positive(k: int) -> bool:
    return k > 0


SIDE_CONDITIONS: dict[str, Callable[..., bool]] = {
    # (d*x + y) // d == x + y // d            needs d != 0
    "take out multiples: d != 0": is_declared_nonzero,
    # (g*x) // (g*d) == x // d                needs g != 0 (any sign: both quotients are the same rational number)
    "cancel a common factor: g != 0": is_declared_nonzero,
    # (x // a + k) // b == (x + a*k) // (a*b)   needs b > 0 (floor is monotone), a != 0
    "nested: b > 0": _positive,
    # (g*x + k) // (g*d) == (x + k // g) // d   needs d > 0: then floor((x + k/g) / d) is floor(floor(x + k/g) / d)
    "coarsen: d > 0": _positive,
    # x // d == -((-x + d - 1) // d)            needs d > 0: floor and ceiling of x / d
    "flip sign: d > 0": _positive,
}


def _holds(law: str, *args: object) -> bool:
    return SIDE_CONDITIONS[law](*args)


# -- the constructor -----------------------------------------------------------------------------------------
def floordiv(p: Int | int, d: Int | int) -> Int:
    """The canonical form of p // d. ZeroDivisionError if d is the constant 0."""
    p, d = as_int(p), as_int(d)
    if d.terms:
        return _by_symbolic(p, d)
    if d.const == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    return _by_constant(p, d.const)


def _by_constant(p: Int, d: int) -> Int:
    if d < 0:
        p, d = -p, -d  # x // -d == -x // d: the same rational number
    if d == 1:
        return p
    if not p.terms:
        return as_int(p.const // d)
    quotient, rest = _split(p, d)
    if not rest.terms:  # rest.const is in [0, d)
        return quotient
    return quotient + _reduced(rest, d)


def _split(p: Int, d: int) -> tuple[Int, Int]:
    """p == d * quotient + rest: coefficients of rest truncated towards zero, its constant in [0, d); d > 0."""
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for mono, coef in p.terms.items():
        q = coef // d if coef >= 0 else -(-coef // d)
        if q:
            quotient[mono] = q
        if coef - q * d:
            rest[mono] = coef - q * d
    q, r = divmod(p.const, d)
    return make_int(quotient, q), make_int(rest, r)


def _reduced(p: Int, d: int) -> Int:
    """p // d for p as `_split` leaves it, d > 1."""
    g = math.gcd(p.content(), d)
    if g > 1 and _holds("coarsen: d > 0", d):
        p = make_int({m: c // g for m, c in p.terms.items()}, p.const // g)
        d //= g
        if d == 1:
            return p
    inner = _nested(p, d)
    if inner is not None:
        return inner
    if p.sorted_terms()[0][1] < 0 and _holds("flip sign: d > 0", d):
        return -make_apply("floordiv", (-p + (d - 1), as_int(d))).as_int()
    return make_apply("floordiv", (p, as_int(d))).as_int()


def _nested(p: Int, b: int) -> Int | None:
    """(x // a + k) // b == (x + a*k) // (a*b) for constants a > 0, b > 0."""
    if len(p.terms) != 1:
        return None
    (mono, coef), = p.terms.items()
    inner = mono[0]
    if len(mono) != 1 or not isinstance(inner, Apply) or inner.op != "floordiv":
        return None
    x, a = inner.args
    assert isinstance(x, Int) and isinstance(a, Int)
    if a.terms or a.const < 1 or not _holds("nested: b > 0", b):  # x // 0 comes up when values are tried
        return None
    if coef == 1:
        return _by_constant(x + a.const * p.const, a.const * b)
    if coef == -1:  # -(x // a) == (-x + a - 1) // a
        return _by_constant(-x + (a.const - 1) + a.const * p.const, a.const * b)
    return None


# -- divisors with symbols ------------------------------------------------------------------------------------
def _by_symbolic(p: Int, d: Int) -> Int:
    if d.sorted_terms()[0][1] < 0:
        p, d = -p, -d  # x // -d == -x // d
    if _holds("take out multiples: d != 0", d):
        quotient, p = take_out(p, d)
        if not p.terms and not p.const:
            return quotient
    else:
        quotient = as_int(0)
    p, d = _cancel(p, d)
    if not d.terms:
        return quotient + _by_constant(p, d.const)
    return quotient + make_apply("floordiv", (p, d)).as_int()


def take_out(p: Int, d: Int) -> tuple[Int, Int]:
    """(q, r) with p == d*q + r: polynomial division by the leading term of d, as far as it goes exactly."""
    lead, k = d.sorted_terms()[0]
    quotient = as_int(0)
    for _ in range(len(p.terms) * len(d.terms) + 1):
        step = next((q for mono, coef in p.sorted_terms()
                     if coef % k == 0 and (q := divide_monomial(mono, lead)) is not None
                     and (len(d.terms) == 1 or _covers(p, d, q, coef // k))), None)
        if step is None:
            break
        coef = p.terms[_times(lead, step)] // k
        part = make_int({step: coef}, 0) if step else as_int(coef)
        quotient, p = quotient + part, p - part * d
    return quotient, p


def _covers(p: Int, d: Int, q: Monomial, coef: int) -> bool:
    """Whether q*coef*d is part of p, term by term: so that a division by a sum does not make p longer."""
    for mono, k in d.terms.items():
        if p.terms.get(_times(mono, q), 0) != k * coef:
            return False
    constant_part = d.const * coef
    return not constant_part or (p.terms.get(q, 0) if q else p.const) == constant_part


def _times(mono: Monomial, q: Monomial) -> Monomial:
    return tuple(sorted(mono + q, key=lambda a: a.id))


def divide_monomial(mono: Monomial, by: Monomial) -> Monomial | None:
    """The monomial q (maybe empty) with mono == by * q, or None."""
    rest = list(mono)
    for atom in by:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _cancel(p: Int, d: Int) -> tuple[Int, Int]:
    """Divide p and d by what all their terms share: the integer content, and atoms that are not zero."""
    g = math.gcd(p.content(), d.content(), p.const, d.const)
    if g > 1:
        p, d = _divide_content(p, g), _divide_content(d, g)
    if p.const or d.const or not p.terms:
        return p, d
    monos = [*p.terms, *d.terms]
    for atom in monos[0]:
        while all(atom in m for m in [*p.terms, *d.terms]) and not (p.const or d.const) \
                and _holds("cancel a common factor: g != 0", atom.as_int()):
            p, d = _strip(p, atom), _strip(d, atom)
    return p, d


def _divide_content(p: Int, g: int) -> Int:
    return make_int({m: c // g for m, c in p.terms.items()}, p.const // g)


def _strip(p: Int, atom: Atom) -> Int:
    terms: dict[Monomial, int] = {}
    const = p.const
    for mono, coef in p.terms.items():
        index = mono.index(atom)
        rest = mono[:index] + mono[index + 1:]
        if rest:
            terms[rest] = terms.get(rest, 0) + coef
        else:
            const += coef
    return make_int(terms, const)


def ceildiv(a: Int | int, b: Int | int) -> Int:
    """The quotient rounded up: -(-a // b), for either sign of b."""
    return -((-as_int(a)) // b)
