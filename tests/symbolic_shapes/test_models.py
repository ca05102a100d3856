"""Models: whatever is shown by one is true in an assignment that satisfies all facts, and no proof is lost by them."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from dynamo_lite.symbolic_shapes import ShapeEnv, eq, ge, ne
from dynamo_lite.symbolic_shapes.expressions.relations import Truth
from dynamo_lite.symbolic_shapes.proofs.checker import verify
from dynamo_lite.symbolic_shapes.prover.decide import decide
from dynamo_lite.symbolic_shapes.prover.models import Models
from tests.symbolic_shapes.guard_cases import NAMES, PYTHON, RELATIONS, Case, cases
from tests.symbolic_shapes.oracle import Term, our_node, python_value

QUIET = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@given(cases(), RELATIONS, RELATIONS)
@QUIET
def test_what_is_shown_is_so_somewhere(case: Case, first: Term, second: Term) -> None:
    """Held against every assignment in the ranges, also after another fact."""
    env = ShapeEnv()
    symbols = {n: env.backed(case.hints[n], name=n, lo=case.ranges[n][0], hi=case.ranges[n][1]) for n in NAMES}
    models, terms = Models(env.knowledge), list[Term]()
    for term in (*case.terms, first if python_value(first, case.hints, PYTHON) else ("not", first)):
        terms.append(term)
        env.add_fact(our_node(term, symbols))
        points = [p for p in case.points() if all(python_value(t, p, PYTHON) for t in terms)]
        question = our_node(second, symbols)
        for truth in (True, False):
            if not isinstance(question, Truth) and models.shows(question, truth):
                assert any(python_value(second, p, PYTHON) is truth for p in points)


@given(cases(), RELATIONS)
@QUIET
def test_no_proof_is_lost(case: Case, term: Term) -> None:
    env = ShapeEnv()
    symbols = {n: env.backed(case.hints[n], name=n, lo=case.ranges[n][0], hi=case.ranges[n][1]) for n in NAMES}
    for fact in case.terms:
        env.add_fact(our_node(fact, symbols))
    question = our_node(term, symbols)
    answer = env.decide(question)
    assert answer.verdict == decide(env.knowledge, question).verdict
    if answer.certificate is not None:
        verify(answer.certificate)


def test_models_follow_the_facts() -> None:
    env = ShapeEnv()
    a, b = env.backed(8, lo=0), env.backed(4, lo=0)
    models = Models(env.knowledge)
    assert models.shows(a > 9, True) and models.shows(a > 9, False)
    before = env.snapshot()
    env.assume(a <= 9)
    assert not models.shows(a > 9, True)
    env.assume(eq(b, a // 2))
    assert models.shows(ge(b, 4), False) and not models.shows(ge(b, 5), True)  # b moves with a
    env.rollback(before)
    assert models.shows(a > 9, True) and models.shows(ge(b, 5), True)


def test_nothing_is_shown_of_what_only_run_time_knows() -> None:
    env = ShapeEnv()
    a, u = env.backed(8, lo=0), env.unbacked(lo=0)
    models = Models(env.knowledge)
    assert not models.shows(u > 3, True) and not models.shows(a > u, True)
    env.assume(u <= a)
    env.assume(u >= 5)
    assert not models.shows(a <= 5, True)  # another size would need another value of u: it is not known whether it fits
    assert env.decide(a >= 5).verdict is True


def test_a_division_by_zero_is_no_model() -> None:
    env = ShapeEnv()
    a, b = env.backed(8, lo=0), env.backed(1, lo=0)
    env.assume(ne(b, 0))
    env.assume(ge(a // b, 3))
    models = Models(env.knowledge)
    assert not models.shows(ge(b, 1), False)
    assert models.shows(ge(b, 2), True)


def test_a_row_has_the_sign_of_its_claim() -> None:
    """A proof that once could not be re-checked: an equation used with the sign that its canonical form has not."""
    env = ShapeEnv()
    a = env.backed(0, lo=0, hi=2)
    answer = env.decide(ne((a // -2) % 2, -1))
    assert answer.verdict is True and answer.certificate is not None
    verify(answer.certificate)
