"""The guard set keeps its reasons, re-checks them, and explains itself."""

from __future__ import annotations

import pytest

from dynamo_lite.symbolic_shapes import Origin, ShapeEnv, eq, ge, le
from dynamo_lite.symbolic_shapes.expressions.expr import Symbol
from dynamo_lite.symbolic_shapes.expressions.relations import TRUE
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate
from dynamo_lite.symbolic_shapes.size_guards.derivations import Derivation, DerivationTable
from dynamo_lite.symbolic_shapes.size_guards.guard_set import SizeGuard, SizeGuardSet
from dynamo_lite.symbolic_shapes.size_guards.simplify import simplify
from tests.symbolic_shapes.z3_oracle import Counterexample, equivalent


def traced() -> SizeGuardSet:
    """The guards of a run that asked five questions."""
    env = ShapeEnv()
    a, b = env.backed(12, lo=0, source="L['x'].size()[0]"), env.backed(14, lo=0, source="L['y'].size()[0]")
    questions = [eq(b, a + 2), eq(a % 4, 0), eq(a % 6, 0), ge(a, 3), le(a, 100)]
    for line, question in enumerate(questions, start=1):
        env.evaluate(question, Origin("user line", "model.py", line, f"if question_{line}:"))
    return simplify(env.facts)


def symbol(name: str, lo: int = 0) -> Symbol:
    return Symbol(name, lo, hint=8)


def test_each_guard_knows_the_facts_it_is_made_of() -> None:
    guards = traced()
    residue = next(g for g in guards.guards if g.kind == "divisibility")
    assert [f.origin.line for f in guards.origins(residue)] == [2, 3]


def test_an_explanation_names_line_derivation_need_and_what_is_spared() -> None:
    guards = traced()
    residue = next(g for g in guards.guards if g.kind == "divisibility")
    text = guards.explain(residue)
    for part in ("(divisibility)", "model.py:2", "`if question_2:`", "model.py:3", "needs no check",
                 "the trace took the path on which it holds"):
        assert part in text
    assert guards.explain(str(residue)) == text
    with pytest.raises(KeyError, match="no guard 's9 == 1'"):
        guards.explain("s9 == 1")


def test_the_first_failing_guard_is_named() -> None:
    guards = traced()
    a, b = guards.symbols
    assert guards.failing({a: 24, b: 26}) is None
    failing = guards.failing({a: 24, b: 25})
    assert failing is not None and failing.kind == "equality"
    failing = guards.failing({a: 26, b: 28})
    assert failing is not None and failing.kind == "divisibility"


def test_verify_rejects_a_guard_that_does_not_follow() -> None:
    guards = traced()
    a = guards.kept_symbols[0].as_int()
    forged = SizeGuardSet(
        guards.facts,
        guards.symbols,
        (*guards.guards, SizeGuard.of(a >= 40)),
        guards.images,
        guards.forward,
        guards.backward,
    )
    with pytest.raises(BadCertificate, match="no reason is recorded"):
        forged.verify()


def test_verify_rejects_a_missing_guard() -> None:
    guards = traced()
    forged = SizeGuardSet(
        guards.facts, guards.symbols, guards.guards[:-1], guards.images, guards.forward, guards.backward
    )
    with pytest.raises(BadCertificate, match="not a guard"):
        forged.verify()


def test_z3_finds_what_a_missing_guard_lets_through() -> None:
    pytest.importorskip("z3")
    guards = traced()
    kept = tuple(g for g in guards.guards if g.kind != "divisibility")
    base = DerivationTable([TRUE, *(g.relation for g in kept)])
    for fact in guards.facts:
        base.base[fact.relation] = None
    forged = SizeGuardSet(guards.facts, guards.symbols, kept, guards.images, guards.forward, base)
    with pytest.raises(Counterexample):
        equivalent(forged)


A, B = symbol("a"), symbol("b")
X, Y = A.as_int(), B.as_int()
WRONG_STEPS = {
    "no rule of that name": (ge(X, 3), Derivation("magic", (ge(X, 5),))),
    "weaker the wrong way": (ge(X, 5), Derivation("weaker", (ge(X, 3),))),
    "not the declared end": (ge(X, 1), Derivation("declared", (), (A, "lo"))),
    "not a part": (ge(X, 3), Derivation("conjunct", (ge(X, 3) & ge(Y, 3),), ())),
    "rewritten without the equality": (ge(Y, 3), Derivation("rewrite", (ge(X, 3),), ((B, X),))),
    "rewritten to something else": (ge(Y, 4), Derivation("rewrite", (ge(X, 3), eq(X, Y)), ((B, X),))),
    "a residue left open": (eq(X % 4, 0), Derivation("residues", (eq(X % 2, 0),), (A, 4))),
    "not under the maximum": (le(X, 3), Derivation("under a max", (le(Y, 3),))),
    "rests on itself": (ge(X, 3), Derivation("weaker", (ge(X, 3),))),
}


@pytest.mark.parametrize("goal, step", WRONG_STEPS.values(), ids=WRONG_STEPS)
def test_the_checker_rejects_a_wrong_step(goal: object, step: Derivation) -> None:
    premises = [p for p in step.premises if p is not goal]
    if step.rule == "conjunct":
        step = Derivation("conjunct", (ge(Y, 3) & ge(Y, X),))
        premises = list(step.premises)
    table = DerivationTable(premises)
    table.steps[goal] = step  # type: ignore[index]
    with pytest.raises(BadCertificate):
        table.check(goal)  # type: ignore[arg-type]


def test_a_replaced_symbols_declared_range_may_not_be_used() -> None:
    table = DerivationTable([])
    table.add(ge(X, 0), Derivation("declared", (), (A, "lo")))
    table.check(ge(X, 0))
    with pytest.raises(BadCertificate):
        table.check(ge(X, 0), frozenset({A}))
