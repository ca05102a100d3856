"""Rules of proofs: interval arithmetic, and every assignment of a small box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int, Symbol, as_int, total
from dynamo_lite.symbolic_shapes.expressions.floats import float_symbols_of
from dynamo_lite.symbolic_shapes.expressions.intervals import (
    Interval,
    declared_atom,
    interval,
    of_apply,
    truth_interval,
)
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, le_zero, not_
from dynamo_lite.symbolic_shapes.proofs.inference import Claim, Premises, Rule, inequality, require

ENUMERATION_LIMIT = 512
"""The most assignments that the rule "enumerate" evaluates."""



def ranges_from(premises: Premises) -> Callable[[Atom], Interval]:
    """The interval of each atom: its declared one, intersected with premises of the form ±atom + c <= 0 or == 0."""
    known: dict[Atom, Interval] = {}
    for claim in premises:
        p = inequality(claim)
        require(len(p.terms) == 1, "not a bound of one atom", claim)
        (mono, coef), = p.terms.items()
        require(len(mono) == 1 and coef in (1, -1), "not a bound of one atom", claim)
        lo, hi = known.get(mono[0]) or declared_atom(mono[0])
        if coef == 1 or claim.kind == "eq":
            hi = min(hi, -p.const * coef)
        if coef == -1 or claim.kind == "eq":
            lo = max(lo, -p.const * coef)
        known[mono[0]] = (lo, hi)
    return lambda atom: known.get(atom) or declared_atom(atom)


def _interval(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p: its upper end by interval arithmetic."""
    hi = interval(data[0], ranges_from(premises))[1]
    require(isinstance(hi, int), "no upper end")
    return le_zero(data[0] - hi)


def _atom_interval(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """atom, side: the end that follows from the intervals of its arguments' atoms."""
    atom, side = data
    lo, hi = of_apply(atom, ranges_from(premises))
    end = lo if side == "lo" else hi
    require(isinstance(end, int), "no such end")
    x = atom.as_int()
    return le_zero(end - x) if side == "lo" else le_zero(x - end)


def _shift(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """p, atoms: with each atom written as lo + t (or hi - t), t >= 0, no coefficient is positive: p <= constant."""
    top = shifted_constant(data[0], data[1], ranges_from(premises))
    require(top is not None, "some coefficient is positive")
    return le_zero(data[0] - top)


def shifted_constant(p: Int, atoms: Sequence[Atom], ranges: Callable[[Atom], Interval]) -> int | None:
    """The constant of p after the shift of the rule "shift", if no other coefficient is positive, else None."""
    mapping: dict[Atom, Int] = {}
    for atom in atoms:
        lo, hi = ranges(atom)
        if isinstance(lo, int):
            mapping[atom] = atom.as_int() + lo  # the atom now represents t
        elif isinstance(hi, int):
            mapping[atom] = hi - atom.as_int()
    if any(a not in mapping for a in p.atoms()):
        return None
    parts = []
    for mono, coef in p.terms.items():
        part = as_int(coef)
        for atom in mono:
            part = part * mapping[atom]
        parts.append(part)
    q = total(parts)
    return None if any(c > 0 for c in q.terms.values()) else q.const + p.const


def _float_bounds(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """relation of floats: decided by the bounds of the integers in it."""
    truth = truth_interval(data[0], ranges_from(premises))
    require(truth is not None, "the bounds do not decide it")
    return data[0] if truth else not_(data[0])


def _enumerate(checker: Any, premises: Premises, data: tuple[Any, ...]) -> Claim:
    """relation, symbols, facts...: every assignment in the symbols' ranges that satisfies the facts satisfies it.

    The first data[2] premises are facts, the rest bounds of the symbols."""
    relation, symbols, filters = data
    require(all_hold(relation, symbols, premises[:filters], ranges_from(premises[filters:])), "not for all values")
    return relation


def all_hold(relation: Bool, symbols: Sequence[Symbol], facts: Premises, ranges: Callable[[Atom], Interval]) -> bool:
    """Whether a relation holds at each point of a small box that satisfies the facts; division by zero counts as no.

    A fact that divides by zero at a point excludes nothing there: more facts never show less.
    """
    ends = [ranges(s) for s in symbols]
    if float_symbols_of(relation) or any(isinstance(lo, float) or isinstance(hi, float) for lo, hi in ends):
        return False
    axes = [range(int(lo), int(hi) + 1) for lo, hi in ends]
    size = 1
    for axis in axes:
        size *= len(axis)
    if size > ENUMERATION_LIMIT:
        return False
    for point in product(*axes):
        values = dict(zip(symbols, point))
        try:
            if not _excluded(facts, values) and not evaluate(relation, values):
                return False
        except (ArithmeticError, ValueError):
            return False
    return True


def _excluded(facts: Premises, values: dict[Symbol, Any]) -> bool:
    for fact in facts:
        try:
            if not evaluate(fact, values):
                return True
        except (ArithmeticError, ValueError):
            continue
    return False


RULES: dict[str, Rule] = {
    "interval": _interval,
    "atom interval": _atom_interval,
    "shift": _shift,
    "float bounds": _float_bounds,
    "enumerate": _enumerate,
}
