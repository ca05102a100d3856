"""Simpler forms of a relation. Each is a proposal, and used only after both directions are derived.

A proposal for `relation` is a list of relations whose conjunction may be equivalent to it. The proposers are a table,
tried in order; they need not be right, only often right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Extended, Int, Symbol, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, TRUE, Bool, Junction, Rel, eq, eq_zero, ge, le
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.size_guards.derivations import RESIDUE_LIMIT, period, residue_classes, under_a_max

Proposer = Callable[[Bool, Mapping[Symbol, int]], list[Bool] | None]
PROBE_LIMIT = 1 << 20
"""How far from the example the end of an interval is looked for."""
PASSED = 16
"""So many values at the end of a range are tried with each relation that is not a hole."""


def conjuncts(relation: Bool, example: Mapping[Symbol, int]) -> list[Bool] | None:
    """A and B: both."""
    if isinstance(relation, Junction) and relation.kind == "and":
        return list(relation.args)  # type: ignore[arg-type]
    return None


def parts_of_a_max(relation: Bool, example: Mapping[Symbol, int]) -> list[Bool] | None:
    """A maximum is bounded: all that is under it is."""
    return under_a_max(relation) or None


def quotient(relation: Bool, example: Mapping[Symbol, int]) -> list[Bool] | None:
    """x//d >= q is x >= d*q, and x//d <= q is x <= d*q + d - 1, for a constant d > 0; x//d == q is both."""
    if not isinstance(relation, Rel) or len(relation.poly.terms) != 1 or relation.kind == "ne":
        return None
    (mono, coef), = relation.poly.terms.items()
    atom = mono[0]
    if len(mono) != 1 or not isinstance(atom, Apply) or atom.op != "floordiv":
        return None
    x, d = _int(atom.args[0]), _int(atom.args[1]).as_constant()
    if d is None or d <= 0:
        return None
    c = relation.poly.const  # coef*(x//d) + c <= 0
    below, above = (-c) // coef if coef > 0 else None, -((-c) // -coef) if coef < 0 else None
    if relation.kind == "eq":  # the coefficient of an equation in one atom is 1
        below = above = -c
    proposals = [] if below is None else [le(x, below * d + d - 1)]
    return proposals if above is None else [*proposals, ge(x, above * d)]


def one_residue(relation: Bool, example: Mapping[Symbol, int]) -> list[Bool] | None:
    """A relation of one symbol that only fixes its residue: s % m == r, with the smallest m; or nothing at all."""
    symbol = sole_symbol(relation)
    modulus = period(relation) if symbol else 1
    if symbol is None or not 1 < modulus <= RESIDUE_LIMIT:
        return None
    truths = [TRUE if case is None else substitute(relation, case) for case in residue_classes(symbol, modulus)]
    if any(t not in (TRUE, FALSE) for t in truths):
        return None
    good = [r for r, t in enumerate(truths) if t is TRUE]
    x = symbol.as_int()
    for m in (m for m in range(1, modulus + 1) if modulus % m == 0):
        if good and all((r % m == good[0] % m) == (t is TRUE) for r, t in enumerate(truths)):
            return [eq(x % m, good[0] % m)]
    return None


def interval_around_example(relation: Bool, example: Mapping[Symbol, int]) -> list[Bool] | None:
    """A relation of one symbol that holds on an interval around the example: its two ends."""
    symbol = sole_symbol(relation)
    if symbol is None or symbol not in example or not truth_at(relation, example):
        return None
    lo, hi = true_interval(relation, symbol, example[symbol], (symbol.lo, symbol.hi))
    x = symbol.as_int()
    ends = [x >= lo] if isinstance(lo, int) and lo > symbol.lo else []
    return ends + ([x <= hi] if isinstance(hi, int) and hi < symbol.hi else [])


PROPOSERS: tuple[Proposer, ...] = (conjuncts, parts_of_a_max, quotient, one_residue, interval_around_example)


def proposals(relation: Bool, example: Mapping[Symbol, int]) -> Iterator[list[Bool]]:
    """Sets of relations that together may be equivalent to `relation`, and are simpler."""
    if is_plain(relation):
        return
    for propose in PROPOSERS:
        found = propose(relation, example)
        if found is not None and relation not in found:
            yield found


# -- helpers ---------------------------------------------------------------------------------------------------
def is_plain(relation: Bool) -> bool:
    """Whether a relation is a bound of one symbol, or states a symbol's residue: nothing is simpler."""
    return is_bound(relation) or as_residue(relation) is not None


def is_bound(relation: Bool) -> bool:
    """symbol <= c or symbol >= c."""
    if not isinstance(relation, Rel) or relation.kind != "le" or len(relation.poly.terms) != 1:
        return False
    (mono, coef), = relation.poly.terms.items()
    return len(mono) == 1 and isinstance(mono[0], Symbol) and coef in (1, -1)


def as_residue(relation: Bool) -> tuple[Symbol, int, int] | None:
    """(symbol, m, r) if the relation is symbol % m == r with 0 <= r < m."""
    if not isinstance(relation, Rel) or relation.kind != "eq" or len(relation.poly.terms) != 2:
        return None
    for mono in relation.poly.terms:
        atom = mono[0]
        if len(mono) == 1 and isinstance(atom, Apply) and atom.op == "floordiv":
            symbol, m = _int(atom.args[0]).as_atom(), _int(atom.args[1]).as_constant()
            if isinstance(symbol, Symbol) and m is not None and m > 1:
                sign = relation.poly.terms.get((symbol,), 0)
                r = -relation.poly.const * sign
                if 0 <= r < m and eq_zero(symbol.as_int() % m - r) is relation:
                    return symbol, m, r
    return None


def sole_symbol(relation: Bool) -> Symbol | None:
    """The only symbol of a relation, if there is just one."""
    about = symbols_of(relation)
    return next(iter(about)) if len(about) == 1 else None


def first_admitted(symbol: Symbol, relations: Sequence[Bool], end: Extended, step: int) -> tuple[int, list[Bool]]:
    """The first value from an end of a symbol's range inwards that no relation excludes, and those that exclude the
    values before it. Holes (s != c) are passed without limit, what other relations exclude up to PASSED values."""
    if not isinstance(end, int):
        return 0, []
    holes = {hole: r for r in relations if (hole := as_hole(r)) is not None}
    others = [r for r in relations if as_hole(r) is None][:PASSED]
    used: dict[Bool, None] = {}
    value, passed = end, 0
    while passed < PASSED and value != symbol.hint:
        found = holes.get(value)
        if found is None:
            found = next((r for r in others if not truth_at(r, {symbol: value})), None)
            passed += 1
        if found is None:
            break
        used[found] = None
        value += step
    return value, list(used)


def as_hole(relation: Bool) -> int | None:
    """c if the relation is s != c (whose form is s - c != 0)."""
    if not isinstance(relation, Rel) or relation.kind != "ne":
        return None
    symbol = (relation.poly - relation.poly.const).as_atom()
    return -relation.poly.const if isinstance(symbol, Symbol) else None


def true_interval(relation: Bool, symbol: Symbol, inside: int,
                  domain: tuple[Extended, Extended]) -> tuple[Extended, Extended]:
    """The interval around `inside` on which the relation seems to hold: found by doubling steps and bisection, so only
    a guess. An end further than PROBE_LIMIT away counts as the end of the domain."""

    def holds(value: int) -> bool:
        return truth_at(relation, {symbol: value})

    if not holds(inside):
        raise ValueError(f"{relation} does not hold at {symbol} == {inside}")
    return _end(holds, inside, domain[0], -1), _end(holds, inside, domain[1], 1)


def _end(holds: Callable[[int], bool], inside: int, limit: Extended, sign: int) -> Extended:
    step, good = 1, inside
    while True:
        probe = good + sign * step
        if isinstance(limit, int) and (probe - limit) * sign > 0:
            probe = limit
        if probe == good:
            return limit
        if not holds(probe):
            break
        good, step = probe, step * 2
        if step > PROBE_LIMIT:
            return limit
    bad = probe
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def truth_at(relation: Bool, values: Mapping[Symbol, int]) -> bool:
    """Whether a relation holds at a point; one that raises there (a division by zero, a negative power) does not."""
    try:
        return bool(evaluate(relation, values))
    except (ArithmeticError, ValueError):
        return False


def _int(node: object) -> Int:
    return as_int(node)  # type: ignore[arg-type]


