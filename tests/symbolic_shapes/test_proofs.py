"""Proofs against enumeration and z3, on random facts and questions; laws that `decide` keeps; tampering is noticed."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dynamo_lite.symbolic_shapes import Bool, ContradictoryFacts, Origin, ShapeEnv, as_bool, eq
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate, Certificate, verify
from dynamo_lite.symbolic_shapes.proofs.congruences import add, meet, mul
from dynamo_lite.symbolic_shapes.proofs.proof import Step, walk
from tests.symbolic_shapes.oracle import AT_ZERO, COMPARE, Term, assignments, our_node, python_table, python_value
from tests.symbolic_shapes.z3_oracle import NotInZ3, entails

HERE = Origin("user line", "model.py", 1)
LO, HI = -3, 4


def terms(depth: int) -> st.SearchStrategy[Term]:
    leaf = st.one_of(st.sampled_from("xyz"), st.sampled_from("xyz"), st.integers(-4, 8))
    if depth == 0:
        return leaf
    smaller = terms(depth - 1)
    return st.one_of(
        leaf,
        st.tuples(st.sampled_from(("+", "-", "*", "max", "min")), smaller, smaller),
        st.tuples(st.sampled_from(("//", "%")), smaller, st.sampled_from((2, 3, 4, -2, -3))),
        st.tuples(st.sampled_from(("//", "%")), smaller, smaller),
    )


def relations(depth: int) -> st.SearchStrategy[Term]:
    plain = st.tuples(st.sampled_from(COMPARE), terms(depth), terms(1))
    return st.one_of(plain, plain, st.tuples(st.sampled_from(("and", "or")), plain, plain))


FACTS = st.lists(relations(1), max_size=3)


def environment(facts: list[Term], bounded: bool = True) -> tuple[ShapeEnv, dict[str, Any]]:
    """The facts in a new environment; ContradictoryFacts or ZeroDivisionError as they come."""
    env = ShapeEnv()
    ends = {"lo": LO, "hi": HI} if bounded else {}
    symbols = {n: env.unbacked(name=n, **ends) for n in "xyz"}
    for fact in facts:
        env.assume(as_bool(our_node(fact, symbols)), HERE)
    return env, symbols


def truths(facts: list[Term], goal: Term) -> set[bool]:
    """The truth values of the goal over all small assignments that satisfy the facts, for each x // 0."""
    seen: set[bool] = set()
    for at_zero in AT_ZERO:
        table = python_table(at_zero)
        for point in assignments("xyz", range(LO, HI + 1)):
            if all(python_value(f, point, table) for f in facts):
                seen.add(bool(python_value(goal, point, table)))
                if len(seen) == 2:
                    return seen
    return seen


@settings(max_examples=250, deadline=None)
@given(FACTS, relations(2), st.booleans())
def test_no_verdict_contradicts_enumeration_and_proofs_check(facts: list[Term], goal: Term, bounded: bool) -> None:
    try:
        env, symbols = environment(facts, bounded)
        question = as_bool(our_node(goal, symbols))
    except ContradictoryFacts:
        assert not truths(facts, ("==", 0, 0)), "called contradictory, but an assignment satisfies them"
        return
    except ZeroDivisionError:
        return
    answer = env.decide(question)
    if answer.verdict is not None:
        assert (not answer.verdict) not in truths(facts, goal), f"{facts} |- {goal}: {answer}"
        assert answer.certificate is not None
        verify(answer.certificate)


@settings(max_examples=60, deadline=None)
@given(FACTS, relations(1), st.randoms(use_true_random=False))
def test_the_order_of_facts_does_not_matter(facts: list[Term], goal: Term, rng: random.Random) -> None:
    """Verdicts of two orders never contradict each other; that one of them finds more is a matter of budgets."""
    shuffled = list(facts)
    rng.shuffle(shuffled)
    verdicts = []
    for order in (facts, shuffled):
        try:
            env, symbols = environment(order)
            verdicts.append(env.decide(as_bool(our_node(goal, symbols))).verdict)
        except (ContradictoryFacts, ZeroDivisionError):
            return
    assert set(verdicts) != {True, False}


def test_the_order_of_simple_facts_changes_no_verdict() -> None:
    facts = [("<=", "x", "y"), ("<=", "y", "z"), ("==", ("%", "x", 2), 0), (">=", "x", 1), ("!=", "z", 4)]
    goals = [("<=", "x", "z"), (">=", "x", 2), ("<=", "z", 3), ("==", ("%", ("*", "x", "y"), 2), 0), ("==", "x", "y"),
             (">=", "z", 2)]
    answers = set()
    for order in itertools.permutations(facts):
        env, symbols = environment(list(order))
        answers.add(tuple(env.decide(our_node(g, symbols)).verdict for g in goals))
    assert answers == {(True, True, True, True, None, True)}


@settings(max_examples=80, deadline=None)
@given(FACTS, relations(1), relations(1))
@example([], ("<", "x", ("//", "x", "x")), ("and", ("<", "x", "y"), ("==", 5, ("*", "x", "x"))))
def test_adding_a_fact_never_loses_a_proof(facts: list[Term], more: Term, goal: Term) -> None:
    """The environment keeps what it has proved. Asked again, it finds it again but for budgets, which products and
    quotients may use up (about one proof in a thousand)."""
    try:
        env, symbols = environment(facts)
        question = as_bool(our_node(goal, symbols))
        before = env.decide(question).verdict
        env.assume(as_bool(our_node(more, symbols)), HERE)
    except (ContradictoryFacts, ZeroDivisionError):
        return
    if before is not None and truths([*facts, more], ("==", 0, 0)):  # of a contradiction nothing has to be found again
        assert env.decide(question).verdict is before
        fresh = ShapeEnv.decide.__get__(env)  # not from the memo
        env._proved.clear()
        again = fresh(question).verdict
        assert again is before or (again is None and not _is_linear([*facts, more, goal]))


def _is_linear(terms: list[Term]) -> bool:
    return not any(isinstance(t, tuple) and (t[0] in ("*", "//", "%") or not _is_linear(list(t[1:]))) for t in terms)


@settings(max_examples=60, deadline=None)
@given(FACTS, relations(1))
def test_rollback_forgets_exactly_the_new_facts(facts: list[Term], goal: Term) -> None:
    try:
        env, symbols = environment(facts[:1])
        question = as_bool(our_node(goal, symbols))
        before, log = env.decide(question).verdict, list(env.facts)
        mark = env.snapshot()
        for fact in facts[1:]:
            env.assume(as_bool(our_node(fact, symbols)), HERE)
        env.decide(question)
    except ContradictoryFacts:
        pass
    except ZeroDivisionError:
        return
    else:
        env.rollback(mark)
        assert env.facts == log
        assert env.decide(question).verdict is before


def test_z3_agrees_with_proofs_over_all_integers() -> None:
    pytest.importorskip("z3")
    rng, unknown, agreed = random.Random(5), 0, 0
    for _ in range(150):
        facts = [_random_relation(rng, 1) for _ in range(rng.choice((0, 1, 2)))]
        goal = _random_relation(rng, 2)
        try:
            env, symbols = environment(facts, bounded=False)
            question = as_bool(our_node(goal, symbols))
            answer = env.decide(question)
        except (ContradictoryFacts, ZeroDivisionError):
            continue
        if answer.certificate is None:
            continue
        try:
            proved = entails([f.relation for f in env.facts], answer.certificate.conclusion)
        except NotInZ3:
            continue
        assert proved is not False, f"z3 has a counterexample to {facts} |- {goal}"
        unknown += proved is None
        agreed += proved is True
    print(f"z3: {agreed} agreed, {unknown} unknown")
    assert agreed > 3 * unknown


def _random_relation(rng: random.Random, depth: int) -> Term:
    def term(d: int) -> Term:
        if d == 0 or rng.random() < 0.3:
            return rng.choice("xyz") if rng.random() < 0.7 else rng.randint(-4, 8)
        op = rng.choice(("+", "-", "*", "//", "%", "max"))
        return (op, term(d - 1), rng.choice((2, 3, 4)) if op in ("//", "%") else term(d - 1))

    return (rng.choice(COMPARE), term(depth), term(1))


# -- tampering ---------------------------------------------------------------------------------------------
def proof_of_transitivity() -> tuple[Certificate, list[Bool]]:
    env = ShapeEnv()
    a, b, c = (env.unbacked(name=n) for n in "abc")
    facts = [a <= b, b <= c]
    for fact in facts:
        env.assume(fact, HERE)
    certificate = env.decide(a <= c).certificate
    assert certificate is not None
    return certificate, facts


def test_a_certificate_does_not_show_another_conclusion() -> None:
    certificate, facts = proof_of_transitivity()
    verify(certificate)
    with pytest.raises(BadCertificate):
        verify(Certificate(facts[0], certificate.step, certificate.facts))


def test_a_certificate_without_one_of_its_facts_is_refused() -> None:
    certificate, _ = proof_of_transitivity()
    with pytest.raises(BadCertificate):
        verify(Certificate(certificate.conclusion, certificate.step, certificate.facts[1:]))


def test_an_undischarged_assumption_is_refused() -> None:
    certificate, _ = proof_of_transitivity()
    with pytest.raises(BadCertificate):
        verify(Certificate(certificate.conclusion, Step("assume", (), (certificate.conclusion,)), certificate.facts))


def test_changed_multipliers_are_refused() -> None:
    certificate, _ = proof_of_transitivity()
    for step in walk(certificate.step):
        if step.rule == "linear":
            multipliers, slack = step.data
            step.data = ((multipliers[0] + 1, *multipliers[1:]), slack)
    with pytest.raises(BadCertificate):
        verify(certificate)


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(BadCertificate):
        verify(Certificate(eq(ShapeEnv().unbacked(), 0), Step("because"), ()))


# -- congruences ----------------------------------------------------------------------------------------------
@given(*[st.tuples(st.integers(0, 9), st.integers(-9, 9)) for _ in range(2)], st.integers(-3, 3), st.integers(-3, 3))
def test_residue_arithmetic_contains_every_value(a: tuple[int, int], b: tuple[int, int], i: int, j: int) -> None:
    x, y = a[1] + a[0] * i, b[1] + b[0] * j
    for residue, value in ((add(a, b), x + y), (mul(a, b), x * y)):
        assert (value - residue[1]) % residue[0] == 0 if residue[0] else value == residue[1]


@given(st.integers(1, 12), st.integers(0, 11), st.integers(1, 12), st.integers(0, 11))
def test_meeting_residues_is_chinese_remaindering(m: int, r: int, n: int, s: int) -> None:
    both = {x for x in range(144 * 2) if x % m == r % m and x % n == s % n}
    met = meet((m, r % m), (n, s % n))
    assert both == (set() if met is None else {x for x in range(144 * 2) if x % met[0] == met[1]})
