"""decide: decides a relation by the facts. A ladder from cheap to strong; each rung can only add answers.

| rung         | procedure                                                                           |
|--------------|-------------------------------------------------------------------------------------|
| direct       | known truths, bounds of forms, interval arithmetic, residues                        |
| models       | true in one model of the facts, false in another: nothing follows, no search        |
| normal form  | the same for the form that known equalities and conditional laws give               |
| refutation   | chains of differences; assume the opposite, derive, eliminate, split cases          |
| enumeration  | few enough assignments in the ranges: try each                                      |
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from dynamo_lite.symbolic_shapes.expressions.expr import Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import float_symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, FloatRelation, Truth, not_
from dynamo_lite.symbolic_shapes.proofs.bound_rules import ENUMERATION_LIMIT, all_hold
from dynamo_lite.symbolic_shapes.proofs.checker import Certificate
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.proofs.proof import Step, facts_used
from dynamo_lite.symbolic_shapes.prover.knowledge import Knowledge
from dynamo_lite.symbolic_shapes.prover.models import Models
from dynamo_lite.symbolic_shapes.prover.refutation import prove
from dynamo_lite.symbolic_shapes.prover.samples import seen_truths

PROVED: Final = True
REFUTED: Final = False
UNKNOWN: Final = None
MAX_FILTERS = 32
FEW = 32
"""So many assignments are tried before anything is searched."""


@dataclass(frozen=True)
class Answer:
    """`verdict` is PROVED (True), REFUTED (False) or UNKNOWN (None); `rung` is the step of the ladder that answered.

    `relation` is the question, `step` the proof of it (or of its negation).
    """

    verdict: bool | None
    rung: str
    relation: Bool
    step: Step | None = None

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that the answer depends on."""
        return facts_used(self.step) if self.step else ()

    @property
    def certificate(self) -> Certificate | None:
        """The proof, for `checker.verify`; None if unknown."""
        if self.step is None:
            return None
        conclusion = self.relation if self.verdict else not_(self.relation)
        return Certificate(conclusion, self.step, self.facts)


def decide(known: Knowledge, relation: Bool, *, model: bool | None = None, models: Models | None = None) -> Answer:
    """The verdict on a relation. `model` is its truth in some assignment that satisfies the facts, if one is at
    hand: the other verdict is then not looked for, nor is one that `models` have a counterexample to."""
    found = known.quick(relation)
    if found:
        return Answer(found[0], "direct", relation, found[1])
    seen = (
        {model} if model is not None else set() if isinstance(relation, FloatRelation) else seen_truths(known, relation)
    )
    if len(seen) == 2:
        return Answer(UNKNOWN, "models", relation)
    atoms, images, steps = known.rewriter.changes(relation)
    simple = known.simplify(relation) if atoms else relation
    if simple is not relation:
        found = known.quick(simple)
    rung = "normal form" if isinstance(simple, Truth) else "direct"
    if not found:
        found, rung = _search(known, simple, seen, models)
    if found:
        truth, step = found
        if simple is not relation:
            goal = relation if truth else not_(relation)
            step = Step("rewrite", (*steps, step), (goal, tuple(atoms), tuple(images)))
        return Answer(truth, rung, relation, step)
    return Answer(UNKNOWN, "none", relation)


def _search(known: Knowledge, relation: Bool, seen: set[bool],
            models: Models | None) -> tuple[tuple[bool, Step] | None, str]:
    if isinstance(relation, FloatRelation):
        return None, "none"
    for truth in (True, False):
        if (not truth) in seen:  # a model with the opposite truth
            continue
        if models is not None and models.shows(relation, not truth):
            continue
        goal = relation if truth else not_(relation)
        for limit, rung in ((FEW, "enumeration"), (0, "refutation"), (ENUMERATION_LIMIT, "enumeration")):
            step = _enumerated(known, goal, limit) if limit else prove(known, goal)
            if step:
                return (truth, step), rung
    return None, "none"


def _enumerated(known: Knowledge, goal: Bool, limit: int) -> Step | None:
    """A step that tries every assignment of the symbols within their ranges, if there are no more than `limit`; with
    the full limit also of the symbols that facts tie to them."""
    if float_symbols_of(goal):
        return None  # floats cannot be enumerated
    symbols = tuple(sorted(symbols_of(goal), key=lambda s: s.id))
    size = 1
    for symbol in symbols:
        size *= _width(known, symbol)
        if size > limit:
            return None
    step = _tried(known, goal, symbols, size)
    if step is None and limit == ENUMERATION_LIMIT:
        wider, size = _tied(known, symbols, size)
        step = _tried(known, goal, wider, size) if len(wider) > len(symbols) else None
    return step


def _width(known: Knowledge, symbol: Symbol) -> int:
    """How many values a symbol may have; more than any limit if there is no end."""
    lo, hi = known.range(symbol)
    return ENUMERATION_LIMIT + 1 if isinstance(lo, float) or isinstance(hi, float) else hi - lo + 1


def _tied(known: Knowledge, symbols: tuple[Symbol, ...], size: int) -> tuple[tuple[Symbol, ...], int]:
    """The symbols and those that facts tie to them, nearest first, while there are few enough assignments of all."""
    found, pending = dict.fromkeys(symbols), list(symbols)
    while pending:
        near = islice(known.facts_of.get(pending.pop(0), ()), MAX_FILTERS)
        others = frozenset().union(*(symbols_of(f.relation) for f in near)) - found.keys()
        for width, _, symbol in sorted((_width(known, s), s.id, s) for s in others):
            if size * width <= ENUMERATION_LIMIT:
                size *= width
                found[symbol] = None
                pending.append(symbol)
    return tuple(found), size


def _tried(known: Knowledge, goal: Bool, symbols: tuple[Symbol, ...], size: int) -> Step | None:
    known.steps += size
    filters = [f for f in _facts_within(known, frozenset(symbols)) if not float_symbols_of(f.relation)]
    if not all_hold(goal, symbols, [f.relation for f in filters], known.range):
        return None
    shown = [Step("fact", (), (f.index, f)) for f in filters]
    bounds = [s for symbol in symbols for s in known.bound_premises(symbol.as_int())]
    return Step("enumerate", (*shown, *bounds), (goal, symbols, len(filters)))


def _facts_within(known: Knowledge, symbols: frozenset[Symbol]) -> list[Fact]:
    """The facts about no other symbols."""
    near = dict.fromkeys(f for s in symbols for f in islice(known.facts_of.get(s, ()), MAX_FILTERS))
    return [f for f in near if symbols_of(f.relation) <= symbols][:MAX_FILTERS]
