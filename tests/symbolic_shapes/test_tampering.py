"""Certificates with one thing changed: refused, or what they show follows all the same. Nothing in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from random import Random
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import Bool, ContradictoryFacts, Int, Origin, ShapeEnv, Symbol, as_bool, evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Rel, eq_zero, le_zero, ne_zero, not_
from dynamo_lite.symbolic_shapes.proofs.checker import RULES, BadCertificate, Certificate, Checker, verify
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.proofs.logic_rules import DISCHARGING
from dynamo_lite.symbolic_shapes.proofs.proof import Congruent, Step, walk
from tests.symbolic_shapes.oracle import our_node
from tests.symbolic_shapes.test_decide import CASES
from tests.symbolic_shapes.test_proofs import _random_relation

HERE = Origin("user line", "model.py", 1)
VALUES = (0, 1, 2, -1, 3, 4, 6, -2, 8, 5, -3, 12, 20)
SESSIONS = 60
TAMPERINGS = 8
"""Per step of a certificate."""


# -- real certificates ---------------------------------------------------------------------------------------------
def by_hand() -> Iterator[Certificate]:
    for case in CASES.values():
        env = ShapeEnv()
        ranges = [case.ranges.get(n, (-float("inf"), float("inf"))) for n in "abcd"]
        symbols = [env.unbacked(name=n, lo=lo, hi=hi) for n, (lo, hi) in zip("abcd", ranges)]
        for fact in case.facts(*symbols):
            env.assume(fact, HERE)
        certificate = env.decide(case.question(*symbols)).certificate
        if certificate is not None:
            yield certificate


def at_random() -> Iterator[Certificate]:
    rng = Random(3)
    for _ in range(SESSIONS):
        env = ShapeEnv()
        symbols = {n: env.unbacked(name=n, lo=-3, hi=4) if rng.random() < 0.6 else env.unbacked(name=n) for n in "xyz"}
        try:
            for _ in range(rng.randint(1, 3)):
                env.assume(as_bool(our_node(_random_relation(rng, 1), symbols)), HERE)
            answers = [env.decide(as_bool(our_node(_random_relation(rng, 2), symbols))) for _ in range(4)]
        except (ContradictoryFacts, ZeroDivisionError):
            continue
        yield from (a.certificate for a in answers if a.certificate is not None)


@cache
def certificates() -> tuple[Certificate, ...]:
    return (*by_hand(), *at_random())


# -- what follows --------------------------------------------------------------------------------------------------
def holds(claim: Any, values: dict[Symbol, int]) -> bool:
    """Whether it holds; a claim that divides by zero there shows nothing."""
    try:
        if isinstance(claim, Congruent):
            return bool(evaluate(claim.poly, values) % claim.modulus == 0)
        return bool(evaluate(claim, values))
    except (ArithmeticError, ValueError):
        return True


def points(certificate: Certificate) -> list[dict[Symbol, int]]:
    """Assignments of all the symbols that a certificate speaks of."""
    symbols: dict[Symbol, None] = {}
    for node in _nodes(certificate):
        symbols.update(dict.fromkeys(symbols_of(node)))
    reach = {0: 13, 1: 13, 2: 13, 3: 7}.get(len(symbols), 5)
    axes = [[v for v in VALUES if s.lo <= v <= s.hi][:reach] for s in symbols]
    return [dict(zip(symbols, values)) for values in product(*axes)]


def _nodes(certificate: Certificate) -> Iterator[Any]:
    yield certificate.conclusion
    yield from (f.relation for f in certificate.facts)
    for step in walk(certificate.step):
        yield from (d for d in step.data if isinstance(d, (Int, Bool)))


class Judge:
    """Says of a claim, under assumptions and facts, whether some assignment refutes it."""

    def __init__(self, certificate: Certificate) -> None:
        self.points = points(certificate)
        self._models: dict[frozenset[Bool], list[dict[Symbol, int]]] = {}
        self._done: dict[Any, bool] = {}

    def refutes(self, claim: Any, hypotheses: frozenset[Bool], facts: tuple[Fact, ...]) -> bool:
        given = hypotheses | {f.relation for f in facts}
        if given not in self._models:
            self._models[given] = [p for p in self.points if all(_strictly_holds(g, p) for g in given)][:200]
        key = (claim, given)
        if key not in self._done:
            self._done[key] = any(not holds(claim, p) for p in self._models[given] if _speaks_of(claim, p))
        return self._done[key]


def _strictly_holds(claim: Bool, values: dict[Symbol, int]) -> bool:
    try:
        return symbols_of(claim) <= values.keys() and bool(evaluate(claim, values))
    except (ArithmeticError, ValueError):
        return False


def _speaks_of(claim: Any, values: dict[Symbol, int]) -> bool:
    return symbols_of(claim.poly if isinstance(claim, Congruent) else claim) <= values.keys()


# -- tampering -----------------------------------------------------------------------------------------------------
def changed(datum: Any, rng: Random, steps: list[Step]) -> Any:
    """Another datum of the same sort."""
    if isinstance(datum, bool):
        return not datum
    if isinstance(datum, int):
        return rng.choice((datum + 1, datum - 1, -datum, 2 * datum, 0))
    if isinstance(datum, str):
        return {"lo": "hi", "hi": "lo"}.get(datum, datum)
    if isinstance(datum, tuple):
        if not datum:
            return datum
        i = rng.randrange(len(datum))
        return rng.choice((datum[:i] + datum[i + 1:], (*datum[:i], changed(datum[i], rng, steps), *datum[i + 1:])))
    if isinstance(datum, Int):
        return rng.choice((datum + 1, datum - 1, -datum, datum * 2, datum + rng.choice(_others(Int, steps) or [datum])))
    if isinstance(datum, Rel):
        p = changed(datum.poly, rng, steps)
        return rng.choice((not_(datum), le_zero(p), eq_zero(p), ne_zero(p)))
    others = _others(type(datum), steps)
    return rng.choice(others) if others else datum


def _others(sort: type, steps: list[Step]) -> list[Any]:
    return [d for step in steps for d in step.data if isinstance(d, sort)]


def tampered(step: Step, rng: Random, steps: list[Step]) -> Step:
    """The step with one thing changed."""
    kind = rng.randrange(4)
    if kind == 0 and step.premises:
        i = rng.randrange(len(step.premises))
        rest = step.premises[:i] + step.premises[i + 1:]
        premises = rng.choice((rest, (*rest, step.premises[i]), (*step.premises[:i], rng.choice(steps), *rest[i:])))
        return Step(step.rule, premises, step.data)
    if kind == 1:
        return Step(rng.choice([*RULES, *DISCHARGING]), step.premises, step.data)
    if step.data:
        i = rng.randrange(len(step.data))
        data = (*step.data[:i], changed(step.data[i], rng, steps), *step.data[i + 1:])
        return Step(step.rule, step.premises, data)
    return Step(step.rule, tuple(reversed(step.premises)), step.data)


def with_step(last: Step, old: Step, new: Step) -> Step:
    """The proof with one step replaced."""
    made: dict[int, Step] = {}
    for step in walk(last):
        premises = tuple(made[id(p)] for p in step.premises)
        same = all(a is b for a, b in zip(premises, step.premises))
        made[id(step)] = new if step is old else step if same else Step(step.rule, premises, step.data)
    return made[id(last)]


@pytest.mark.parametrize("part", range(4))
def test_a_tampered_step_is_refused_or_what_it_shows_follows(part: int) -> None:
    rng, fates = Random(part), Counter[str]()
    for certificate in certificates()[part::4]:
        verify(certificate)
        judge, steps = Judge(certificate), list(walk(certificate.step))
        for target in steps:
            for _ in range(TAMPERINGS):
                step = with_step(certificate.step, target, tampered(target, rng, steps))
                fates[_fate(step, certificate, judge)] += 1
    assert fates["refused"] > fates["follows"] > 0


def _fate(last: Step, certificate: Certificate, judge: Judge) -> str:
    """Each step that the checker lets pass must follow, up to the one that it refuses."""
    checker = Checker({f.index: f.relation for f in certificate.facts})
    try:
        for step in walk(last):
            claim, hypotheses = checker.check(step)
            assert not judge.refutes(claim, hypotheses, certificate.facts), (step, claim, certificate)
        verify(Certificate(certificate.conclusion, last, certificate.facts))
    except BadCertificate:
        return "refused"
    return "follows"


def test_another_conclusion_or_fact_is_refused_or_follows() -> None:
    rng, fates = Random(9), Counter[str]()
    for certificate in certificates():
        judge, steps = Judge(certificate), list(walk(certificate.step))
        for _ in range(TAMPERINGS):
            conclusion, facts = certificate.conclusion, certificate.facts
            if rng.random() < 0.5 and facts:
                i = rng.randrange(len(facts))
                other = Fact(facts[i].index, changed(facts[i].relation, rng, steps), HERE, "guard")
                facts = (*facts[:i], other, *facts[i + 1:]) if rng.random() < 0.8 else facts[:i] + facts[i + 1:]
            else:
                conclusion = changed(conclusion, rng, steps)
            try:
                verify(Certificate(conclusion, certificate.step, facts))
            except BadCertificate:
                fates["refused"] += 1
                continue
            fates["follows"] += 1
            assert not judge.refutes(conclusion, frozenset(), facts), (certificate, conclusion, facts)
    assert fates["refused"] > fates["follows"]


def test_the_certificates_use_nearly_every_rule() -> None:
    used = {step.rule for certificate in certificates() for step in walk(certificate.step)}
    assert len(used) >= 30, sorted(set(RULES) - used)
