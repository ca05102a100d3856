"""Conditions on sizes, replayed: the facts that a guard was made of, the derivation step by step, checked again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dynamo_lite.report.sources import Sources
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate, Certificate, Checker
from dynamo_lite.symbolic_shapes.proofs.facts import Fact, Origin
from dynamo_lite.symbolic_shapes.proofs.proof import Congruent, walk
from dynamo_lite.symbolic_shapes.size_guards.explain import RULES_IN_WORDS, why_needed

_LONG = 60
"""A proof of more steps shows its length only."""


def reason_record(reason: Any, identifier: str, sources: Sources) -> dict[str, Any]:
    """The derivation of a condition on sizes (dynamic_shapes.SizeReason).

    facts: what the trace recorded, with the lines. steps: how the condition follows. spares: the conditions that need
    no check because of it. checked: each step was verified again, without search.
    """
    table, guard_set = reason.solution.table, reason.solution.guard_set
    words: Callable[[Any], str] = table.in_words
    guards, symbol = reason.line.guards, reason.line.symbol
    facts = {id(fact): fact for guard in guards for fact in guard_set.origins(guard)}.values()
    spares = {id(fact): fact for guard in guards for fact in guard_set.spared(guard)}.values()
    record: dict[str, Any] = {
        "kinds": [guard.kind for guard in guards],
        "facts": [fact_record(fact, words, identifier, sources) for fact in facts],
        "steps": [step for guard in guards for step in _derivation(guard_set.forward, guard.relation, words)],
        "spares": [fact_record(fact, words, identifier, sources, link=False) for fact in spares],
        "declared": str(symbol.origin or "its own range") if symbol is not None else "",
        "symbols": sorted({str(s) for guard in guards for s in guard_set.symbols if _is_in(s, guard)}),
    }
    record["checked"] = _checks(guard_set, guards)
    return record


def compared_record(compared: Any, identifier: str, sources: Sources) -> dict[str, Any]:
    """A branch on sizes whose sides compute the same values (tracing.findings), and why they do.

    proof: as that of a condition: steps, and whether each was verified again.
    """
    steps: list[dict[str, Any]] = []
    try:
        compared.verify()
        for reason, certificate in zip(compared.reasons(), compared.certificates()):
            proof = list(_replay(certificate, compared.in_words))
            steps.append({"shows": reason, "rule": "follows from the facts", "from": [], "proof": proof})
        checked = True
    except BadCertificate:
        checked = False
    return {
        "id": identifier,
        "text": f"both sides compute the same values: {compared.condition}",
        "origin": origin_record(compared.origin, identifier, sources, "branches"),
        "proof": {"steps": steps, "checked": checked},
    }


def fact_record(
    fact: Fact, words: Callable[[Any], str], identifier: str, sources: Sources, link: bool = True
) -> dict[str, Any]:
    """A fact: the relation, why it has to be checked, where it came from."""
    return {
        "text": words(fact.relation),
        "kind": fact.kind,
        "why": why_needed(fact),
        "origin": origin_record(fact.origin, identifier if link else "", sources),
    }


def origin_record(origin: Origin, identifier: str, sources: Sources, role: str = "guards") -> dict[str, Any]:
    """Where a fact came from, with the place if it is a line."""
    at = None
    if identifier:
        at = sources.link(origin.file, origin.line, role, identifier)
    elif origin.file:
        at = sources.place(origin.file, origin.line)
    return {"kind": origin.kind, "note": origin.note, "at": at, "text": str(origin)}


def _derivation(table: Any, relation: Any, words: Callable[[Any], str]) -> Iterator[dict[str, Any]]:
    for shown, derivation in table.trace(relation):
        step: dict[str, Any] = {"shows": words(shown), "rule": "collected", "from": [], "proof": []}
        if derivation is not None:
            step["rule"] = RULES_IN_WORDS.get(derivation.rule, derivation.rule)
            step["from"] = [words(premise) for premise in derivation.premises]
            for part in derivation.data:
                if isinstance(part, Certificate):
                    step["proof"] = list(_replay(part, words))
        yield step


def _replay(certificate: Certificate, words: Callable[[Any], str]) -> Iterator[dict[str, Any]]:
    """The steps of the prover, each recomputed by the checker from its premises."""
    steps = list(walk(certificate.step))
    if len(steps) > _LONG:
        yield {
            "number": 1,
            "shows": words(certificate.conclusion),
            "rule": f"a proof of {len(steps)} steps",
            "from": [],
        }
        return
    checker = Checker({fact.index: fact.relation for fact in certificate.facts})
    numbers = {id(step): number for number, step in enumerate(steps, 1)}
    for step in steps:
        claim, _ = checker.check(step)
        yield {
            "number": numbers[id(step)],
            "shows": _claim(claim, words),
            "rule": step.rule,
            "from": [numbers[id(premise)] for premise in step.premises],
        }


def _claim(claim: Any, words: Callable[[Any], str]) -> str:
    return f"{words(claim.poly)} ≡ 0 (mod {claim.modulus})" if isinstance(claim, Congruent) else words(claim)


def _checks(guard_set: Any, guards: Any) -> bool:
    try:
        for guard in guards:
            guard_set.forward.check(guard.relation)
    except BadCertificate:
        return False
    return True


def _is_in(symbol: Any, guard: Any) -> bool:
    from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of

    return symbol in symbols_of(guard.relation)
