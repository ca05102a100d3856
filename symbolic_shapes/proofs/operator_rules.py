"""Laws of each operator: the rules that introduce floordiv, max, ite, pow and rounding into proofs.

Each is a rule of the checker: `rule(checker, premises, data) -> claim`, with its side condition shown by a premise.
"""

from __future__ import annotations

from typing import Any

from dynamo_lite.symbolic_shapes.expressions.division import take_out
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, as_int
from dynamo_lite.symbolic_shapes.expressions.floats import ROUNDERS, Float
from dynamo_lite.symbolic_shapes.expressions.piecewise import exact_rounding as _exact_rounding
from dynamo_lite.symbolic_shapes.expressions.piecewise import maximum, share
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, Bool, and_, eq_zero, le_zero, ne_zero, not_, or_
from dynamo_lite.symbolic_shapes.proofs.inference import Premises, Rule, require
from dynamo_lite.symbolic_shapes.proofs.proof import Congruent


def _parts(atom: Apply, op: str) -> tuple[Any, ...]:
    require(isinstance(atom, Apply) and atom.op == op, "not this operator", op)
    return atom.args


def _sign(d: Int, premises: Premises) -> int:
    """1 if d is shown to be >= 1, -1 if <= -1 (by the constant itself or by the premise)."""
    if not d.terms:
        require(d.const != 0, "division by zero")
        return 1 if d.const > 0 else -1
    claim = premises[0] if premises else None
    require(claim in (le_zero(1 - d), le_zero(d + 1)), "the sign is not shown", d)
    return 1 if claim is le_zero(1 - d) else -1


def division_bounds(atom: Apply, sign: int) -> tuple[Int, Int]:
    """(a, b) with a <= 0 and b <= 0 by the definition of q = x // d:  d*q <= x <= d*q + d - 1  for d >= 1;
    d*q + d + 1 <= x <= d*q  for d <= -1."""
    x, d = atom.args
    assert isinstance(x, Int) and isinstance(d, Int)
    product = d * atom.as_int()
    if sign > 0:
        return product - x, x - product - d + 1
    return x - product, product + d + 1 - x


def _floordiv_bound(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Bool:
    """atom, side (0 or 1): one half of the definition of floor division."""
    atom, side = data
    _, d = _parts(atom, "floordiv")
    return le_zero(division_bounds(atom, _sign(d, premises))[side])


def _remainder(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Bool:
    """atom x // d, d >= 1 a constant, premise x - r ≡ 0 (mod m) with d | m:  x - d * (x // d) == r % d."""
    atom, r = data
    x, d = _parts(atom, "floordiv")
    claim = premises[0]
    require(isinstance(claim, Congruent) and not d.terms and d.const > 0, "not a remainder by a constant")
    require(claim.poly is x - r and claim.modulus % d.const == 0, "not about this division")
    return eq_zero(x - d * atom.as_int() - r % d.const)


def _exact(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Bool:
    """atom (d*q + y) // d with premise d != 0:  it equals q + y // d."""
    atom, = data
    x, d = _parts(atom, "floordiv")
    require(shows_nonzero(premises[0], d), "it may be zero", d)
    quotient, rest = take_out(x, d)
    require(bool(quotient.terms or quotient.const), "no multiple of the divisor")
    return eq_zero(atom.as_int() - quotient - (rest // d if rest.terms or rest.const else as_int(0)))


def _small(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Bool:
    """atom x // d with premises 0 <= x and x < d:  it is 0."""
    atom, = data
    x, d = _parts(atom, "floordiv")
    shown = [None if claim is FALSE else claim for claim in premises]
    require(shown == [le_zero(-x), le_zero(x - d + 1)], "not shown to be less than the divisor")
    return eq_zero(atom.as_int())


def shows_nonzero(claim: Any, d: Int) -> bool:
    return claim in (ne_zero(d), le_zero(1 - d), le_zero(d + 1))


def _max_above(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Bool:
    """atom, i: the i-th argument is <= the max."""
    atom, i = data
    return le_zero(_parts(atom, "max")[i] - atom.as_int())


def _max_cases(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Bool:
    """atom: the max is <= one of its arguments."""
    return or_(*max_cases(data[0]))


def max_cases(atom: Apply) -> list[Bool]:
    return [le_zero(atom.as_int() - arg) for arg in _parts(atom, "max")]


def _max_without(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Bool:
    """atom, i, j with premise args[i] <= args[j]: the max needs no args[i]."""
    atom, i, j = data
    args = _parts(atom, "max")
    require(premises[0] is le_zero(args[i] - args[j]) and i != j, "not dominated")
    return eq_zero(atom.as_int() - maximum(*(a for k, a in enumerate(args) if k != i)))


def _ite_chosen(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Bool:
    """atom with its condition or the negation as premise: the choice."""
    atom, = data
    cond, then, other = _parts(atom, "ite")
    require(premises[0] in (cond, not_(cond)), "not the condition")
    return eq_zero(atom.as_int() - (then if premises[0] is cond else other))


def _ite_cases(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Bool:
    """atom: the condition and the first choice, or its negation and the second."""
    return or_(*ite_cases(data[0]))


def ite_cases(atom: Apply) -> list[Bool]:
    cond, then, other = _parts(atom, "ite")
    q = atom.as_int()
    return [and_(cond, eq_zero(q - then)), and_(not_(cond), eq_zero(q - other))]


def _rounded(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Bool:
    """atom, image: rounding of float(p) or of a / b is exact for small integers; premises bound them."""
    atom = data[0]
    image, bounded = exact_rounding(atom)
    require(image is not None, "no exact rounding")
    require(all(claim in premises for claim in bounded), "not shown to be small")
    return eq_zero(atom.as_int() - image)


def exact_rounding(atom: Apply) -> tuple[Any, list[Bool]]:
    """(a rounded float as an integer, the bounds under which they are equal); (None, []) if nothing is known."""
    x = atom.args[0]
    return _exact_rounding(atom.op, x) if isinstance(x, Float) else (None, [])


def _rounded_share(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Bool:
    """atom, a rounded part of p, with premise p >= 0:  it is p or less."""
    atom, = data
    whole = rounded_share(atom)
    require(whole is not None and premises[0] is le_zero(-whole), "no part of a number that is not negative")
    return le_zero(atom.as_int() - whole)


def rounded_share(atom: Apply) -> Int | None:
    """The integer of which a rounded float is a part (piecewise.share)."""
    is_rounded = isinstance(atom, Apply) and atom.op in ROUNDERS and isinstance(atom.args[0], Float)
    return share(atom.args[0]) if is_rounded else None  # type: ignore[arg-type]


RULES: dict[str, Rule] = {
    "floordiv bound": _floordiv_bound,
    "remainder": _remainder,
    "exact division": _exact,
    "small dividend": _small,
    "max above": _max_above,
    "max cases": _max_cases,
    "max without": _max_without,
    "ite chosen": _ite_chosen,
    "ite cases": _ite_cases,
    "exact rounding": _rounded,
    "rounded share": _rounded_share,
}
