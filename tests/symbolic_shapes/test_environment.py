"""The environment: hints become guards, run-time questions become errors, knowledge can be taken back."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import (
    DataDependentQuestion,
    Origin,
    ShapeEnv,
    UnknownValue,
    eq,
    float_symbol,
    int_truediv,
    maximum,
    ne,
    round_float,
)
from dynamo_lite.symbolic_shapes.errors import StaleSnapshot


def test_a_question_that_no_fact_settles_is_asked_of_the_hint_and_becomes_a_guard() -> None:
    env = ShapeEnv()
    n = env.backed(16, lo=0)
    assert env.evaluate(n > 8, Origin("user line", "model.py", 3)) is True
    assert [(str(f.relation), f.kind) for f in env.facts] == [("s0 >= 9", "guard")]


def test_answers_under_suppression_are_not_facts() -> None:
    env = ShapeEnv()
    n = env.backed(16, lo=0)
    with env.suppressed():
        assert env.evaluate(n > 8) is True
    assert env.facts == []


def test_a_data_dependent_question_names_line_symbols_ranges_and_both_checks() -> None:
    env = ShapeEnv()
    u = env.unbacked(size_like=True, hi=100, origin=Origin("operator", note="aten.nonzero"))
    with pytest.raises(DataDependentQuestion) as info:
        env.evaluate(eq(u, 3), Origin("user line", "model.py", 7, "if n == 3:"))
    text = str(info.value)
    for part in ("u0 == 3", "model.py:7", "if n == 3:", "[0, 100]", "aten.nonzero", "torch._check(u0 == 3)",
                 "torch._check(u0 != 3)"):
        assert part in text


def test_each_suggested_check_settles_the_question() -> None:
    for holds in (True, False):
        env = ShapeEnv()
        u = env.unbacked()
        env.assume(eq(u, 3) if holds else ~eq(u, 3))
        assert env.evaluate(eq(u, 3)) is holds


def test_a_value_specialises_and_is_a_guard() -> None:
    env = ShapeEnv()
    n = env.backed(16, lo=0)
    assert env.value_of(2 * n) == 32
    assert [str(f.relation) for f in env.facts] == ["s0 == 16"]
    assert env.simplify(n + 1).as_constant() == 17
    with pytest.raises(UnknownValue, match="u0"):
        env.value_of(env.unbacked())


def test_rollback_restores_ranges_equalities_and_remainders() -> None:
    env = ShapeEnv()
    a, b = env.unbacked(lo=0), env.unbacked(lo=0)
    mark = env.snapshot()
    env.assume(eq(a, b + 2))
    env.assume(eq(b % 4, 0))
    env.assume(a <= 20)
    assert env.bounds(b) == (0, 16)
    later = env.snapshot()
    env.rollback(mark)
    assert env.bounds(b) == (0, float("inf")) and env.simplify(a) is a
    assert env.decide(eq(b % 2, 0)).verdict is None
    with pytest.raises(StaleSnapshot):
        env.rollback(later)


def test_a_fact_that_follows_is_not_recorded_again() -> None:
    env = ShapeEnv()
    u = env.unbacked(lo=0)
    assert env.assume(u <= 10) is not None
    assert env.assume(u <= 12) is None
    assert env.add_fact(u <= 11) is None
    assert len(env.facts) == 1


def test_float_symbols_have_hints_too() -> None:
    env = ShapeEnv()
    n = env.backed(4)
    assert env.hint(round_float("floor", float_symbol("f", 2.5) + n)) == 6
    assert env.hint(round_float("floor", float_symbol("g") + n)) is None


def test_thousands_of_symbols_get_names_in_order() -> None:
    env = ShapeEnv()
    env.backed(1, name="s1")
    assert [str(env.backed(1)) for _ in range(3)] == ["s0", "s2", "s3"]
    assert str(env.unbacked()) == "u0"


def test_nodes_go_with_the_symbols_that_they_are_made_of() -> None:
    def session() -> list[weakref.ref[Any]]:
        env = ShapeEnv()
        n, m = env.backed(16, lo=0), env.unbacked(lo=1)
        env.assume(eq(n % 4, 0))
        env.evaluate((n * m + 7) // 8 >= n if env.decide(m <= 5).verdict else n >= 8)
        nodes = [n, n * m, (n + 7) // 8, maximum(n, m), ne(n, m), (n <= 3) | (m >= 4), int_truediv(n, 3)]
        return [weakref.ref(node) for node in nodes]

    refs = session()
    gc.collect()
    assert [ref() for ref in refs] == [None] * len(refs)


def test_nodes_stay_while_their_symbols_do() -> None:
    n = ShapeEnv().backed(16)
    identity = id((3 * n + 1) // 2)
    gc.collect()
    assert id((3 * n + 1) // 2) == identity
