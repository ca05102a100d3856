"""Counter-models by sampling: an assignment that satisfies the facts shows which verdict cannot follow.

This rung never proves anything. It makes "unknown" cheap: with one model where the question is true and one where it
is false, nothing needs to be searched. Sampling is seeded by the question, so answers do not depend on the clock.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import INF, Extended, Int, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Rel

if TYPE_CHECKING:
    from dynamo_lite.symbolic_shapes.prover.knowledge import Knowledge

MAX_SYMBOLS = 12
MAX_FACTS = 24
TRIES = 20
REACH = 12
"""How far from an open end of a range values are tried."""


def seen_truths(known: Knowledge, relation: Bool) -> set[bool]:
    """The truth values that the relation takes in assignments found to satisfy all facts about its symbols."""
    system = _system(known, relation)
    if system is None:
        return set()
    free, relations = system
    choices = [_choices(known.range(s), s.hint) for s in free]
    seen: set[bool] = set()
    root = _root(relation, free)
    for attempt in range(TRIES):
        known.steps += 1
        # Coprime strides walk through the combinations, each symbol at its own pace.
        values = {s: c[attempt * (2 * i + 1) // (i + 1) % len(c)] for i, (s, c) in enumerate(zip(free, choices))}
        try:
            if root is not None and attempt % 2 and (relation.kind == "eq") not in seen:  # type: ignore[attr-defined]
                values[root[0]] = evaluate(root[1], values)
            _add_solved(known, (relation, *relations), values)
            truth = bool(evaluate(relation, values))
            if truth not in seen and _is_model(relations, values):
                seen.add(truth)
        except (ArithmeticError, ValueError, KeyError):
            continue  # this assignment divides by zero: it is not a model
        if len(seen) == 2:
            break
    return seen


def _system(known: Knowledge, relation: Bool) -> tuple[list[Symbol], list[Bool]] | None:
    """(free symbols, facts) connected with the relation; None if they are too many."""
    symbols = dict.fromkeys(sorted(symbols_of(relation), key=lambda s: s.id))
    facts: dict[Bool, None] = {}
    pending = list(symbols)
    while pending:
        symbol = pending.pop()
        near = [f.relation for f in islice(known.facts_of.get(symbol, ()), MAX_FACTS + 1)]
        known.steps += len(near)
        facts.update(dict.fromkeys(near))
        image = known.solved.get(symbol)
        found = set().union(*(symbols_of(f) for f in near), symbols_of(image[0]) if image else ())
        new = sorted(found - symbols.keys(), key=lambda s: s.id)
        symbols.update(dict.fromkeys(new))
        pending += new
        if len(symbols) > MAX_SYMBOLS or len(facts) > MAX_FACTS:
            return None
    return [s for s in symbols if s not in known.solved], list(facts)


def _root(relation: Bool, free: list[Symbol]) -> tuple[Symbol, Int] | None:
    """For p == 0 or p != 0: a symbol, and its value for which p is 0. Chance rarely hits that."""
    if not isinstance(relation, Rel) or relation.kind == "le" or not symbols_of(relation) <= set(free):
        return None
    p = relation.poly
    for mono, coef in p.terms.items():
        atom = mono[0]
        if len(mono) == 1 and abs(coef) == 1 and isinstance(atom, Symbol):
            image = atom.as_int() - p * coef
            if atom not in symbols_of(image):
                return atom, image
    return None


def _add_solved(known: Knowledge, relations: tuple[Bool, ...], values: dict[Symbol, int]) -> None:
    """Add the values of the symbols that equations determine."""
    for relation in relations:
        for symbol in symbols_of(relation):
            if symbol not in values:
                _solve(known, symbol, values)


def _is_model(relations: list[Bool], values: dict[Symbol, int]) -> bool:
    return all(evaluate(r, values) for r in relations) and all(s.lo <= v <= s.hi for s, v in values.items())


def _solve(known: Knowledge, symbol: Symbol, values: dict[Symbol, int]) -> None:
    image = known.solved[symbol][0]
    for other in symbols_of(image):
        if other not in values:
            _solve(known, other, values)
    values[symbol] = evaluate(image, values)


def _choices(ends: tuple[Extended, Extended], hint: int | None) -> list[int]:
    """Values to try of a symbol: the hint, both ends, and some between in no order."""
    lo, hi = ends
    low = int(lo) if lo != -INF else (int(hi) if hi != INF else 0) - REACH
    high = int(hi) if hi != INF else (low + 2 * REACH if lo != -INF else REACH)
    near = min(high, low + REACH)
    values = [low, high, (low + near) // 2, low + 1, near, (low + high) // 2, high - 1, low + 2, (low + near) // 3]
    if low < 0 < high:
        values[1:1] = [0, 1, -1]
    if hint is not None:
        values.insert(0, hint)
    return [v for v in dict.fromkeys(values) if low <= v <= high]
