"""Runtime asserts: each fact about an unbacked symbol, where its last symbol is bound, unless entailed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_lite.symbolic_shapes import Int, Origin, ShapeEnv, Symbol, eq, evaluate, ne, symbols_of
from dynamo_lite.symbolic_shapes.size_guards.runtime_asserts import schedule
from tests.symbolic_shapes.guard_cases import NAMES, Case, at, cases
from tests.symbolic_shapes.test_simplify import QUIET


def sym(node: Int) -> Symbol:
    atom = node.as_atom()
    assert isinstance(atom, Symbol)
    return atom


def made() -> tuple[ShapeEnv, Int, Int, Int]:
    env = ShapeEnv()
    return env, env.backed(8, lo=0), env.unbacked(size_like=True), env.unbacked()


def test_each_fact_waits_for_its_last_symbol() -> None:
    env, s, u, v = made()
    for fact in (u + v <= s, u >= 2, v >= 1):
        env.assume(fact, Origin("torch._check", "model.py", 4))
    asserts = schedule(env.facts, [sym(u), sym(v)])
    assert [(a.after.name, a.code) for a in asserts] == [("u0", "u0 >= 2"), ("u1", "u1 >= 1"), ("u1", "u0 + u1 <= s0")]
    assert asserts[0].message == "Runtime assertion failed for expression u0 >= 2, from torch._check model.py:4"


def test_the_binding_order_decides_not_the_names() -> None:
    env, _, u, v = made()
    env.assume(u <= v)
    assert [a.after for a in schedule(env.facts, [sym(v), sym(u)])] == [sym(u)]


def test_what_earlier_assertions_entail_is_left_out() -> None:
    env, _, u, v = made()
    facts = [env.assume(u >= 2), env.assume(u >= 5), env.assume(v >= u), env.assume(ne(v, 1))]
    asserts = schedule([f for f in facts if f], [sym(u), sym(v)])
    assert [a.code for a in asserts] == ["u0 >= 5", "u0 <= u1"]


def test_what_only_a_later_assertion_entails_stays() -> None:
    env, _, u, v = made()
    facts = [env.assume(u >= 2), env.assume(eq(v, 7)), env.assume(u >= v)]
    codes = [(a.after.name, a.code) for a in schedule([f for f in facts if f], [sym(u), sym(v)])]
    assert codes[0] == ("u0", "u0 >= 2")  # v == 7 and u >= v say more, but only once v is bound


def test_guards_on_the_inputs_are_given() -> None:
    env, s, u, _ = made()
    env.assume(u <= s)
    env.assume(u <= 3)
    facts = list(env.facts)
    assert [a.code for a in schedule(facts, [sym(u)])] == ["u0 <= 3", "u0 <= s0"]
    assert [a.code for a in schedule(facts, [sym(u)], given=[s >= 5])] == ["u0 <= 3"]


def test_axioms_help_and_are_not_asserted() -> None:
    env, _, u, _ = made()
    env.assume(u >= 3, kind="axiom")
    env.assume(u <= 9)
    assert [a.code for a in schedule(env.facts, [sym(u)])] == ["u0 <= 9"]


def test_a_symbol_that_is_never_bound_is_an_error() -> None:
    env, _, u, v = made()
    env.assume(u <= v, Origin("torch._check", "model.py", 4))
    with pytest.raises(ValueError, match="u1, which the program never binds"):
        schedule(env.facts, [sym(u)])


@given(cases(size=4), st.permutations(NAMES), st.sampled_from(NAMES), st.booleans())
@QUIET
def test_the_assertions_accept_what_the_facts_accept(case: Case, order: list[str], backed: str, added: bool) -> None:
    """By enumeration; each assertion uses what is bound so far. One symbol is an input, its facts are the guards'."""
    env = ShapeEnv()
    made: dict[str, Symbol] = {}
    for name in NAMES:
        lo, hi = case.ranges[name]
        made[name] = sym(env.backed(case.hints[name], name=name, lo=lo, hi=hi) if name == backed
                         else env.unbacked(name=name, lo=lo, hi=hi))
    for fact in case.facts(made):
        (env.add_fact if added else env.assume)(fact.relation)
    bound = [name for name in order if name != backed]
    asserts = schedule(env.facts, [made[name] for name in bound])
    for check in asserts:
        known = {backed, *bound[:bound.index(check.after.name) + 1]}
        assert {s.name for s in symbols_of(check.relation)} <= known and check.after in symbols_of(check.relation)
    guards = [f.relation for f in env.facts if not any(s.unbacked for s in symbols_of(f.relation))]
    for point in case.points():
        if all(evaluate(g, at(made, point)) for g in guards):
            assert all(eval(check.code, dict(point)) for check in asserts) == case.holds(point), (point, asserts)
