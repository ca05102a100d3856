"""What clashes is named, all of it and nothing else: against every assignment of a small range."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite.symbolic_shapes import (
    Bool,
    ContradictoryFacts,
    Fact,
    Origin,
    ShapeEnv,
    as_bool,
    eq,
    evaluate,
    ge,
    int_truediv,
    maximum,
    or_,
    round_float,
)
from tests.symbolic_shapes.oracle import COMPARE, Term, our_node

LO, HI = -3, 4
POINTS = list(itertools.product(range(LO, HI + 1), repeat=3))


def line(number: int) -> Origin:
    return Origin("torch._check", "model.py", number)


LEAVES = st.one_of(st.sampled_from("xyz"), st.sampled_from("xyz"), st.integers(-4, 6))
TERMS = st.one_of(LEAVES, st.tuples(st.sampled_from(("+", "-", "*", "max", "min")), LEAVES, LEAVES),
                  st.tuples(st.sampled_from(("//", "%")), LEAVES, st.sampled_from((2, 3))))
RELATIONS = st.one_of(
    st.tuples(st.sampled_from(COMPARE), TERMS, LEAVES),
    st.tuples(st.sampled_from(("and", "or")), *[st.tuples(st.sampled_from(COMPARE), TERMS, LEAVES)] * 2))


def satisfiable(relations: list[Bool], symbols: list[Any]) -> bool:
    return any(all(evaluate(r, dict(zip(symbols, point))) for r in relations) for point in POINTS)


@settings(max_examples=150, deadline=None)
@given(st.lists(RELATIONS, min_size=2, max_size=6), st.booleans())
def test_the_facts_that_are_named_clash_and_each_of_them_is_needed(terms: list[Term], searched: bool) -> None:
    env = ShapeEnv()
    sizes = {n: env.unbacked(name=n, lo=LO, hi=HI) for n in "xyz"}
    symbols = [s.as_atom() for s in sizes.values()]
    for number, term in enumerate(terms):
        relation = as_bool(our_node(term, sizes))
        before = list(env.facts)
        try:
            (env.assume if searched else env.add_fact)(relation, line(number))
        except ContradictoryFacts as error:
            assert error.relation is relation
            assert env.facts == before, "a contradiction is not recorded"
            assert set(error.facts) <= set(before)
            named = [f.relation for f in error.facts]
            assert not satisfiable([*named, relation], symbols)
            for left_out in named:
                assert satisfiable([*(r for r in named if r is not left_out), relation], symbols), f"{left_out} is idle"
            return


CLASHES: dict[str, tuple[Any, list[int]]] = {
    "disjoint ranges": (lambda a, b, c: [a <= 3, c <= 1, ge(a, 4)], [0]),
    "three bounds and an equation": (lambda a, b, c: [a <= 3, b <= 4, c >= 0, eq(a + b, 9)], [0, 1]),
    "a chain that closes": (lambda a, b, c: [a <= b, b <= c, a >= 0, c < a], [0, 1]),
    "residues after substitution": (
        lambda a, b, c: [eq(a, 2 * b), c >= 3, eq(b % 3, 1), eq(a % 6, 4)], [0, 2]),
    "residues of a sum": (lambda a, b, c: [eq(a % 4, 1), eq(b % 4, 2), c >= 0, eq((a + b) % 2, 0)], [0, 1]),
    "two alternatives, both closed": (lambda a, b, c: [or_(a <= 2, a >= 9), c >= 0, a >= 3, a <= 8], [0, 2]),
    "an alternative of equations": (lambda a, b, c: [or_(eq(a, b), eq(a, c)), b >= 5, c >= 5, a <= 4], [0, 1, 2]),
    "a max": (lambda a, b, c: [maximum(a, b) <= 7, c <= 7, b >= 8], [0]),
    "a rounded half": (
        lambda a, b, c: [(a >= 0) & (a <= 99), c >= 0, eq(round_float("floor", int_truediv(a, 2)), 3), a >= 8], [2]),
    "a product": (lambda a, b, c: [a >= 2, b >= 3, c >= 0, a * b <= 5], [0, 1]),
}


@pytest.mark.parametrize("searched", [True, False])
@pytest.mark.parametrize("name", CLASHES)
def test_these_facts_clash(name: str, searched: bool) -> None:
    build, expected = CLASHES[name]
    env = ShapeEnv()
    *facts, last = build(*(env.unbacked(name=n) for n in "abc"))
    made = [env.add_fact(fact, line(i)) for i, fact in enumerate(facts)]
    if not searched:
        try:
            env.add_fact(last, line(9))
        except ContradictoryFacts as error:
            assert list(error.facts) == [made[i] for i in expected]
        return  # else only search sees it
    with pytest.raises(ContradictoryFacts) as info:
        env.assume(last, line(9))
    assert list(info.value.facts) == [made[i] for i in expected]


def test_the_words_name_each_line_and_the_ranges_that_matter() -> None:
    env = ShapeEnv()
    u = env.unbacked(size_like=True, hi=64, origin=Origin("operator", note="aten.nonzero"))
    v = env.unbacked(size_like=True)
    env.assume(eq(u + v, 100), Origin("torch._check", "model.py", 4, "torch._check(u + v == 100)"))
    with pytest.raises(ContradictoryFacts) as info:
        env.assume(v <= 30, Origin("user line", "model.py", 9, "if v <= 30:"))
    for part in ("u1 <= 30 cannot hold", "model.py:9", "`if v <= 30:`", "u0 + u1 == 100", "model.py:4", "[0, 64]",
                 "aten.nonzero"):
        assert part in str(info.value)


def test_a_contradiction_after_a_rollback_names_only_what_is_left() -> None:
    env = ShapeEnv()
    u, v = env.unbacked(), env.unbacked()
    env.assume(u <= v, line(1))
    mark = env.snapshot()
    env.assume(v <= 3, line(2))
    env.rollback(mark)
    later: Fact | None = env.assume(v <= 5, line(3))
    with pytest.raises(ContradictoryFacts) as info:
        env.assume(u >= 6, line(4))
    assert [f.origin.line for f in info.value.facts] == [1, 3] and later in info.value.facts
