"""The checker of proofs: small, and without search. Each rule recomputes a step's conclusion from its premises'.

Assumptions within a proof ("assume") must be discharged ("cases", "refute").
"""

from __future__ import annotations

from dataclasses import dataclass

from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, Bool
from dynamo_lite.symbolic_shapes.proofs import bound_rules, congruence_rules, linear_rules, logic_rules, operator_rules
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.proofs.inference import BadCertificate, Claim, Rule
from dynamo_lite.symbolic_shapes.proofs.logic_rules import DISCHARGING
from dynamo_lite.symbolic_shapes.proofs.proof import Step, walk

__all__ = ["RULES", "BadCertificate", "Certificate", "Checker", "verify"]

RULES: dict[str, Rule] = {
    **linear_rules.RULES, **bound_rules.RULES, **congruence_rules.RULES, **logic_rules.RULES, **operator_rules.RULES,
}

MALFORMED = (TypeError, ValueError, AttributeError, AssertionError, LookupError, ArithmeticError)
"""The exceptions of a rule whose premises or data are not of the right type."""


@dataclass(frozen=True)
class Certificate:
    """A proof of `conclusion` from `facts` (relations by their index in the log)."""

    conclusion: Bool
    step: Step
    facts: tuple[Fact, ...]

    def __len__(self) -> int:
        return sum(1 for _ in walk(self.step))


def verify(certificate: Certificate) -> None:
    """Re-check every step. BadCertificate if one does not follow, or the end is not the conclusion."""
    checker = Checker({fact.index: fact.relation for fact in certificate.facts})
    claim, hypotheses = checker.check(certificate.step)
    if hypotheses:
        raise BadCertificate(f"assumed and never discharged: {sorted(map(str, hypotheses))}")
    if claim is not certificate.conclusion and claim is not FALSE:  # from facts that contradict each other all follows
        raise BadCertificate(f"it shows {claim}, not {certificate.conclusion}")


class Checker:
    """Checks steps against the relations of the facts, remembering the ones done."""

    def __init__(self, facts: dict[int, Bool]) -> None:
        self.facts = facts
        self._done: dict[int, tuple[Claim, frozenset[Bool]]] = {}

    def check(self, last: Step) -> tuple[Claim, frozenset[Bool]]:
        """The claim of a step and the assumptions it still depends on."""
        for step in walk(last):
            if id(step) not in self._done:
                self._done[id(step)] = self._one(step)
        return self._done[id(last)]

    def _one(self, step: Step) -> tuple[Claim, frozenset[Bool]]:
        try:
            return self._applied(step)
        except MALFORMED as error:
            raise BadCertificate(f"malformed step {step.rule!r}: {error}") from error

    def _applied(self, step: Step) -> tuple[Claim, frozenset[Bool]]:
        done = [self._done[id(p)] for p in step.premises]
        special = DISCHARGING.get(step.rule)
        if special:
            return special(done, step.data)
        rule = RULES.get(step.rule)
        if rule is None:
            raise BadCertificate(f"no rule {step.rule!r}")
        claim = rule(self, [claim for claim, _ in done], step.data)
        open_now = frozenset().union(*(h for _, h in done))
        return claim, open_now | {step.data[0]} if step.rule == "assume" else open_now
