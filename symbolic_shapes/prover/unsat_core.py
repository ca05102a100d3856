"""Which facts clash: the smallest set that cannot hold together with a relation, found by leaving out one at a time."""

from __future__ import annotations

from collections.abc import Sequence

from dynamo_lite.symbolic_shapes.expressions.relations import Bool, and_
from dynamo_lite.symbolic_shapes.proofs.facts import UNKNOWN_ORIGIN, Fact
from dynamo_lite.symbolic_shapes.proofs.proof import Step, facts_used
from dynamo_lite.symbolic_shapes.prover.decide import REFUTED, decide
from dynamo_lite.symbolic_shapes.prover.knowledge import Contradiction, Knowledge

MANY = 12
"""For more facts than this, a proof names those that it uses, without reduction."""


def smallest(relation: Bool, facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Those of `facts`, which are known to contradict the relation, of which none can be left out.

    As far as `decide` sees it: without any one of those that are returned it finds no contradiction."""
    kept = list(facts)
    if len(kept) > MANY:
        return tuple(kept)
    for fact in facts:
        if fact not in kept:
            continue
        fewer = _clashing(relation, [f for f in kept if f is not fact])
        if fewer is not None:
            kept = fewer
    return tuple(kept)


def _clashing(relation: Bool, facts: list[Fact]) -> list[Fact] | None:
    """The facts that a contradiction with the relation uses; None if no contradiction is found."""
    known = Knowledge()
    try:
        for fact in facts:
            known.add(fact.relation, fact.origin, fact.kind)
        answer = decide(known, relation)
        if answer.verdict is REFUTED and answer.step is not None:
            return _these(facts, answer.step)
        known.add(relation, UNKNOWN_ORIGIN, "check")
    except Contradiction as clash:
        return _these(facts, clash.step)
    together = and_(relation, *(f.relation for f in facts))  # no single fact may imply it, but their values together
    return facts if decide(Knowledge(), together).verdict is REFUTED else None


def _these(facts: list[Fact], step: Step) -> list[Fact]:
    used = {f.index for f in facts_used(step)}
    return [fact for i, fact in enumerate(facts) if i in used]
