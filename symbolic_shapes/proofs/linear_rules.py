"""Rules of proofs: premises, and linear arithmetic on integers."""

from __future__ import annotations

from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Symbol, total
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, Bool, Junction, Rel, eq_zero, le_zero, ne_zero, or_
from dynamo_lite.symbolic_shapes.proofs.inference import Claim, Premises, Rule, inequality, require


def _fact(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    require(data[0] in checker.facts, "not among the facts", data[0])
    return checker.facts[data[0]]


def _assume(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """relation: it follows from itself; the checker keeps it as open."""
    require(isinstance(data[0], Bool), "not a proposition")
    return data[0]


def _declared(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """symbol, side: the declared range."""
    symbol, side = data
    end = symbol.lo if side == "lo" else symbol.hi
    require(isinstance(symbol, Symbol) and isinstance(end, int), "no such declared end")
    x = symbol.as_int()
    return le_zero(end - x) if side == "lo" else le_zero(x - end)


def _part(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    whole = premises[0]
    require(isinstance(whole, Junction) and whole.kind == "and" and data[0] in whole.args, "not a part of it")
    return data[0]


def _linear(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """multipliers, slack >= 0: the sum of k * p over premises p <= 0 (k >= 0) or p == 0 (any k), minus slack."""
    multipliers, slack = data
    require(slack >= 0 and len(multipliers) == len(premises), "malformed combination")
    parts = []
    for k, claim in zip(multipliers, premises):
        p = inequality(claim)
        require(k >= 0 or (isinstance(claim, Rel) and claim.kind == "eq"), "an inequality times a negative number")
        parts.append(p * k)
    return le_zero(total(parts) - slack)


def _equation(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """multipliers (numbers or expressions): the sum of m * p over premises p == 0."""
    parts = []
    for m, claim in zip(data[0], premises):
        require(isinstance(claim, Rel) and claim.kind == "eq", "not an equation", claim)
        parts.append(claim.poly * m)
    return eq_zero(total(parts))


def _transitive(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """a, b, c: a == b and b == c give a == c."""
    a, b, c = data
    require(premises[0] is eq_zero(a - b) and premises[1] is eq_zero(b - c), "not a chain")
    return eq_zero(a - c)


def _both(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p <= 0 and -p <= 0 give p == 0."""
    p, q = inequality(premises[0]), inequality(premises[1])
    require(p is -q, "not the two halves of an equation")
    return eq_zero(p)


def _tighten(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p <= 0 and p != 0 give p <= -1."""
    p, other = inequality(premises[0]), premises[1]
    require(isinstance(other, Rel) and other.kind == "ne" and other is ne_zero(p), "not about the same expression")
    return le_zero(p + 1)


def _product(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """a <= 0 and b <= 0 give a*b >= 0."""
    return le_zero(-(inequality(premises[0]) * inequality(premises[1])))


def _apart(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p != 0 gives p <= -1 or p >= 1."""
    claim = premises[0]
    require(isinstance(claim, Rel) and claim.kind == "ne", "not an inequation")
    return or_(le_zero(claim.poly + 1), le_zero(1 - claim.poly))


def _strictly(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p <= -1 gives p != 0 (data: p)."""
    require(le_zero(data[0] + 1) is premises[0] or premises[0] is FALSE, "not below zero")
    return ne_zero(data[0])


RULES: dict[str, Rule] = {
    "fact": _fact,
    "assume": _assume,
    "declared": _declared,
    "part": _part,
    "linear": _linear,
    "equation": _equation,
    "transitive": _transitive,
    "both": _both,
    "tighten": _tighten,
    "product": _product,
    "apart": _apart,
    "strictly": _strictly,
}
