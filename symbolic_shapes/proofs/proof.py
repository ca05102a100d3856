"""Proofs as data. A `Step` names a rule, its premises and its parameters; only the checker computes its conclusion.

The prover builds steps as it goes (an allocation each), with the conclusions that it expects. `checker.verify` relies
on none of that: it recomputes every conclusion by the rules of `checker.RULES`, without search.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dynamo_lite.symbolic_shapes.expressions.expr import Int
from dynamo_lite.symbolic_shapes.proofs.facts import Fact


class Step:
    """One inference. `premises` are steps, `data` the rule's parameters (nodes and ints)."""

    __slots__ = ("data", "premises", "rule")

    def __init__(self, rule: str, premises: tuple[Step, ...] = (), data: tuple[Any, ...] = ()) -> None:
        self.rule, self.premises, self.data = rule, premises, data

    def __repr__(self) -> str:
        return f"{self.rule}{self.data}" + (f" from {len(self.premises)}" if self.premises else "")


class Congruent(NamedTuple):
    """The claim poly ≡ 0 (mod modulus), modulus >= 1."""

    poly: Int
    modulus: int


def walk(step: Step) -> Iterator[Step]:
    """Each step of a proof once, premises first."""
    seen: set[int] = set()
    stack: list[tuple[Step, bool]] = [(step, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((p, False) for p in node.premises)


def facts_used(step: Step) -> tuple[Fact, ...]:
    """The facts that a proof uses, in order."""
    return tuple(sorted({s.data[1] for s in walk(step) if s.rule == "fact"}, key=lambda fact: fact.index))
