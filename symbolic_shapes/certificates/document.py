"""The guards, facts and decisions of a trace as one document, with a proof of each from the others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynamo_lite.symbolic_shapes.certificates.elaborations import Written
from dynamo_lite.symbolic_shapes.certificates.nodes import NodeTable
from dynamo_lite.symbolic_shapes.certificates.steps import Leaf, StepWriter, TableSteps
from dynamo_lite.symbolic_shapes.expressions.expr import Symbol
from dynamo_lite.symbolic_shapes.expressions.relations import TRUE, Bool
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate, Certificate
from dynamo_lite.symbolic_shapes.proofs.facts import Fact, Origin
from dynamo_lite.symbolic_shapes.size_guards.derivations import declared_ends
from dynamo_lite.symbolic_shapes.size_guards.guard_set import SizeGuardSet

FORMAT, VERSION = "dynamo-lite certificates", 1
Words = Callable[[Bool], str]
"""A relation in terms of the inputs."""


@dataclass(frozen=True)
class Subject:
    """The content of a document.

    Attributes:
        guard_set: the simplified guards, with the derivations in both directions.
        facts: all facts of the trace; those that are not in the guard set are asserted at run time.
        decisions: proofs of the answers to questions.
        unproved: decisions of which no proof was found again.
        words: a relation in terms of the inputs.
    """

    guard_set: SizeGuardSet
    facts: Sequence[Fact] = ()
    decisions: Sequence[Certificate] = ()
    unproved: Sequence[Bool] = ()
    words: Words = str


def document(subject: Subject, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The document (docs/certificates.md). BadCertificate where a proof does not check."""
    return _Writer(subject).document(about or {})


class _Writer:
    """`given` names what a proof may start from: "axioms", "facts" and "guards" of the document."""

    def __init__(self, subject: Subject) -> None:
        guard_set = self.guard_set = subject.guard_set
        self.subject = subject
        self.nodes = NodeTable()
        self.steps = StepWriter(self.nodes)
        every = {f.relation: f for f in (*guard_set.facts, *subject.facts)}
        facts = {f.relation: f for f in guard_set.collected}
        axioms = {relation: f for relation, f in every.items() if f.kind == "axiom" and relation not in facts}
        checks = {relation: f for relation, f in every.items() if relation not in facts and relation not in axioms}
        self.rows = {"axioms": [*axioms.values()], "facts": [*facts.values()], "checks": [*checks.values()]}
        self._given = {kind: {f.relation: i for i, f in enumerate(rows)} for kind, rows in self.rows.items()}
        self._given["guards"] = {relation: i for i, relation in enumerate(guard_set.relations)}

    def document(self, about: Mapping[str, Any]) -> dict[str, Any]:
        proofs = self._proofs()
        self.nodes.add(tuple(fact.relation for rows in self.rows.values() for fact in rows))
        self.nodes.add((*self.guard_set.relations, *self.subject.unproved))
        rows, number, datum = self.nodes.rows(), self.nodes.number, self.nodes.datum
        proofs["ranges"] = [[number(symbol), *ends] for symbol, *ends in proofs["ranges"]]
        proofs["decisions"] = [[number(relation), step] for relation, step in proofs["decisions"]]
        words = self.subject.words
        found = {
            "format": FORMAT,
            "version": VERSION,
            "about": dict(about),
            "nodes": rows,
            **{kind: [self._fact_row(fact) for fact in facts] for kind, facts in self.rows.items()},
            "guards": [{"relation": number(r), "text": words(r)} for r in self.guard_set.relations],
            "steps": [[rule, [*of], datum(data), number(claim)] for rule, of, data, claim in self.steps.rows],
            "proofs": proofs,
            "unproved": [number(relation) for relation in self.subject.unproved],
        }
        return {**found, "digest": digest(found)}

    def _fact_row(self, fact: Fact) -> dict[str, Any]:
        relation, text = self.nodes.number(fact.relation), self.subject.words(fact.relation)
        return {"relation": relation, "kind": fact.kind, "text": text, "origin": _place(fact.origin)}

    def _proofs(self) -> dict[str, Any]:
        """The steps that show each guard, fact, range and decision."""
        forward = TableSteps(self.steps, self.guard_set.forward, self._leaf("facts"))
        backward = TableSteps(self.steps, self.guard_set.backward, self._leaf("guards"))
        shown = [forward.step(relation) for relation in self.guard_set.relations]
        ranges = []
        for symbol in reversed([s for s in self.guard_set.images if isinstance(s, Symbol)]):
            ranges.append([symbol, *map(backward.step, declared_ends(symbol))])
        facts = [backward.step(fact.relation) for fact in self.rows["facts"]]
        of_facts, decisions = self._leaf("facts", "checks"), self.subject.decisions
        asked = [(d.conclusion, self.steps.of_certificate(d, of_facts)[0]) for d in decisions]
        self.nodes.add(tuple(symbol for symbol, *_ in ranges))
        return {"guards": shown, "facts": facts, "ranges": ranges, "decisions": asked}

    def _leaf(self, *kinds: str) -> Leaf:
        """Relations of these kinds as steps, and axioms."""

        def step(relation: Bool) -> Written:
            if relation is TRUE:
                return self.steps.write("normal form", (), (), TRUE)
            kind = next((kind for kind in ("axioms", *kinds) if relation in self._given[kind]), None)
            if kind is None:
                raise BadCertificate(f"{relation} is not among the {' and '.join(kinds)}")
            return self.steps.write("given", (), (kind, self._given[kind][relation]), relation)

        return step


def digest(found: Mapping[str, Any]) -> str:
    """The SHA-256 of a document whose digest is null, as JSON with sorted keys and no spaces."""
    text = json.dumps({**found, "digest": None}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _place(origin: Origin) -> str:
    return " ".join(part for part in (origin.kind, f"line {origin.line}" if origin.line else "", origin.note) if part)
