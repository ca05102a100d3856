"""The checker around the rules: facts, assumptions and what discharges them, steps that make no sense."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import Bool, Origin, Symbol, and_, or_
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, TRUE, Junction, not_
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate, Certificate, Checker, verify
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.proofs.logic_rules import DISCHARGING
from dynamo_lite.symbolic_shapes.proofs.proof import Step, walk
from tests.symbolic_shapes.checker_cases import Draw
from tests.symbolic_shapes.test_checker_rules import GRAPH_BREAKS, counterexample

X = Symbol("x").as_int()
FACTS = (Fact(0, X >= 3, Origin("user line"), "guard"), Fact(1, X <= 1, Origin("user line"), "guard"))


def certificate(conclusion: Bool, step: Step, facts: tuple[Fact, ...] = FACTS[:1]) -> Certificate:
    return Certificate(conclusion, step, facts)


AT_LEAST_3 = Step("fact", (), (0, FACTS[0]))
AT_MOST_1 = Step("fact", (), (1, FACTS[1]))
ASSUMED = Step("assume", (), (X <= 1,))


def test_a_fact_shows_itself_and_nothing_else() -> None:
    verify(certificate(X >= 3, AT_LEAST_3))
    with pytest.raises(BadCertificate, match="not x >= 2"):
        verify(certificate(X >= 2, AT_LEAST_3))
    with pytest.raises(BadCertificate):
        verify(certificate(X <= 1, AT_MOST_1))  # not among the facts


def test_from_a_contradiction_all_follows() -> None:
    clash = Step("linear", (AT_LEAST_3, AT_MOST_1), ((1, 1), 0))
    verify(certificate(X >= 100, clash, FACTS))
    with pytest.raises(BadCertificate):
        verify(certificate(X >= 100, clash))


def test_an_assumption_is_refused_until_it_is_discharged() -> None:
    with pytest.raises(BadCertificate, match="never discharged"):
        verify(certificate(X <= 1, ASSUMED))
    clash = Step("linear", (AT_LEAST_3, ASSUMED), ((1, 1), 0))
    with pytest.raises(BadCertificate, match="never discharged"):
        verify(certificate(X >= 2, clash))
    verify(certificate(X >= 2, Step("refute", (clash,), (X <= 1,))))
    with pytest.raises(BadCertificate, match="never discharged"):
        verify(certificate(X >= 1, Step("refute", (clash,), (X <= 0,))))


def test_assumptions_are_kept_through_each_rule() -> None:
    weaker = Step("linear", (ASSUMED,), ((1,), 2))
    assert Checker({}).check(weaker) == (X <= 3, frozenset((X <= 1,)))


def test_a_step_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    one = Checker._one
    monkeypatch.setattr(Checker, "_one", lambda self, step: (checked.append(step.rule), one(self, step))[1])
    step = AT_LEAST_3
    for _ in range(30):  # as a tree it would be 2**30 steps
        step = Step("linear", (step, step), ((1, 0), 0))
    proof = certificate(X >= 3, step)
    verify(proof)
    assert len(checked) == len(proof) == 31 == len(list(walk(step)))


@pytest.mark.parametrize("step", [
    Step("because"), Step("linear", (), (1,)), Step("linear", (AT_LEAST_3,), (("1",), 0)), Step("part", (AT_LEAST_3,)),
    Step("fact"), Step("assume", (), ("x",)), Step("refute", (), (X <= 1,)), Step("cases", (), ()),
    Step("declared", (), (X, "lo")), Step("modulo", (AT_LEAST_3,), (X, (), True)),
    Step("enumerate", (), (X <= 1, (), 0)), Step("interval", (), (X <= 1,)),
    Step("rewrite", (AT_LEAST_3,), (X >= 3, (X,), ())), Step("shift", (), (X, (X,))),
], ids=repr)
def test_a_malformed_step_is_a_bad_certificate(step: Step) -> None:
    with pytest.raises(BadCertificate):
        verify(certificate(X <= 1, step))


# -- what discharges assumptions, against enumeration ------------------------------------------------------------------
def follows_from(draw: Draw, hypotheses: list[Bool]) -> Any:
    """A claim that follows from the hypotheses: FALSE if nothing satisfies them in a small box."""
    if counterexample(list(hypotheses), FALSE) is None:
        return FALSE
    return or_(draw.rng.choice(hypotheses), draw.relation()) if hypotheses else None


def attempt(rule: str, rng: Random, draw: Draw) -> tuple[list[tuple[Any, frozenset[Bool]]], tuple[Any, ...]]:
    """(claim, hypotheses) of each premise, such that each claim follows; and data."""
    def done(hypotheses: list[Bool], claim: Any = None) -> tuple[Any, frozenset[Bool]]:
        shown = claim if claim is not None else follows_from(draw, hypotheses)
        if shown is None or counterexample(list(hypotheses), shown) is not None:
            return or_(*hypotheses), frozenset(hypotheses)
        return shown, frozenset(hypotheses)

    p, q = draw.relation(draw.linear()), draw.relation(draw.linear())
    if rule == "refute":
        q = and_(not_(p), q) if draw.flip() else q
        return [done([p, q] if draw.flip() else [p])], (draw.instead(p, 0.2) if draw.flip(0.9) else q,)
    if draw.flip():  # a relation and its negation
        goal = or_(q, draw.relation())
        branches = [done([p, q] if draw.flip() else [p, not_(goal)], goal), done([not_(p), q], goal)]
        return branches[:rng.choice((1, 2, 2, 2, 2))], (p,)
    if draw.flip(0.1):  # from what is no disjunction: nothing follows, not even from no case
        return [(draw.rng.choice((TRUE, p)), frozenset())], ()
    whole = or_(p, q)
    goal = or_(whole, draw.relation())
    parts = list(whole.args) if isinstance(whole, Junction) else [whole]
    branches = [done([part], goal if draw.flip(0.9) else None) for part in parts]
    if draw.flip(0.3):
        branches.reverse()
    return [(whole, frozenset([whole] if draw.flip() else [])), *branches[:rng.choice((1, 2, 2, 2))]], ()


@pytest.mark.parametrize("rule", DISCHARGING)
def test_what_discharges_an_assumption_is_right_to_do_so(rule: str) -> None:
    """If each premise follows from its assumptions, the conclusion follows from those that are still open."""
    accepted, refused = {True: 0, False: 0}, 0
    for seed in range(250):
        done, data = attempt(rule, Random(seed), Draw(seed))
        given = [claim for claim, hypotheses in done if claim not in hypotheses and not hypotheses]
        try:
            claim, still_open = DISCHARGING[rule](done, data)
        except GRAPH_BREAKS:
            refused += 1
            continue
        accepted[bool(data)] += 1
        assert counterexample([*still_open, *given], claim) is None, (done, data, claim, still_open)
    assert accepted[True] > 20 and (accepted[False] > 20 or rule == "refute") and refused > 25, (accepted, refused)
