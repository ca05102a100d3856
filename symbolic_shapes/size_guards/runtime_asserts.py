"""Facts that only run time can check: where in the program to assert them.

A fact about an unbacked symbol is asserted right after its last symbol is bound (by item(), nonzero(), ...): no
earlier, since its value is not known, and no later, since what follows relies on it. An assertion is left out
when the ones before it entail it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.printer import default_name, to_python
from dynamo_lite.symbolic_shapes.expressions.relations import Bool
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.size_guards.codegen import divides
from dynamo_lite.symbolic_shapes.size_guards.derivations import environment_of
from dynamo_lite.symbolic_shapes.size_guards.relation_order import complexity


@dataclass(frozen=True)
class RuntimeAssert:
    """`code`, a Python expression over the sizes, must be true once the symbol `after` is bound."""

    after: Symbol
    relation: Bool
    code: str
    message: str
    fact: Fact


def schedule(facts: Sequence[Fact], order: Sequence[Symbol], *, given: Iterable[Bool] = (),
             name: Callable[[Any], str] = default_name) -> list[RuntimeAssert]:
    """The assertions for the facts about unbacked symbols, in the order in which the program is to make them.

    `order` has the unbacked symbols as the program binds them; ValueError if one that a fact is about is missing.
    `given` are relations that are checked on the inputs (a SizeGuardSet's). Facts about backed symbols alone are the
    checked by the guards and are taken for granted; axioms are never asserted.
    """
    place = {symbol: i for i, symbol in enumerate(order)}
    env = environment_of([*given, *(f.relation for f in facts if _at_once(f))])
    placed = sorted((f for f in facts if not _at_once(f)), key=lambda f: (_place(f, place), *_within_place(f)))
    asserts: list[RuntimeAssert] = []
    for fact in placed:
        if env.decide(fact.relation).verdict is True:
            continue
        env.add_fact(fact.relation)
        if fact.kind != "axiom":
            asserts.append(_assertion(fact, order[_place(fact, place)], name))
    return asserts


def _at_once(fact: Fact) -> bool:
    """Whether a fact is about the inputs only."""
    return not any(s.unbacked for s in symbols_of(fact.relation))


def _place(fact: Fact, place: dict[Symbol, int]) -> int:
    unbacked = [s for s in symbols_of(fact.relation) if s.unbacked]
    missing = [s.name for s in unbacked if s not in place]
    if missing:
        raise ValueError(f"{fact} is about {', '.join(sorted(missing))}, which the program never binds")
    return max(place[s] for s in unbacked)


def _within_place(fact: Fact) -> tuple[Any, ...]:
    """Axioms first, what may divide by zero last, the simplest (and tightest) before the others."""
    return fact.kind != "axiom", divides(fact.relation), complexity(fact.relation), fact.index


def _assertion(fact: Fact, after: Symbol, name: Callable[[Any], str]) -> RuntimeAssert:
    code = to_python(fact.relation, name)
    message = f"Runtime assertion failed for expression {code}, from {fact.origin}"  # begins as torch's does
    return RuntimeAssert(after, fact.relation, code, message, fact)
