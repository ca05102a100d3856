"""A session of N facts and N questions costs about N steps: counted, not timed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dynamo_lite.symbolic_shapes import Origin, ShapeEnv, eq, ne

HERE = Origin("user line", "model.py", 1)


def deep_model(env: ShapeEnv, n: int) -> None:
    """Two dynamic sizes, and in every layer guards on products and sums of them."""
    b, s = env.backed(4, lo=2, hi=2**40), env.backed(96, lo=2, hi=2**40)
    for i in range(n):
        env.evaluate(ne(b * s * (i + 1), 64 * i), HERE)
        env.evaluate(s * (i + 2) >= b + i, HERE)
        env.decide((s + i) % 8 <= 7)


def many_sizes(env: ShapeEnv, n: int) -> None:
    """A new run-time size in every layer, compared with the one before."""
    before = env.unbacked(size_like=True)
    for _ in range(n):
        after = env.unbacked(size_like=True)
        env.assume(after <= before, HERE)
        env.decide(after <= before + 1)
        env.decide(eq(after, before))
        before = after


def renamed_sizes(env: ShapeEnv, n: int) -> None:
    """Every layer's size is shown to be the first one, plus something."""
    first = env.backed(64, lo=2)
    for i in range(n):
        size = env.backed(64 + i, lo=2)
        env.evaluate(eq(size, first + i), HERE)
        env.decide(size >= first)


def one_size_narrowed(env: ShapeEnv, n: int) -> None:
    """One size, compared with ever larger constants."""
    size = env.backed(10**6, lo=0)
    other = env.backed(3, lo=0)
    for i in range(n):
        env.evaluate(size >= 3 * i, HERE)
        env.evaluate(size + i * other >= 5 * i, HERE)


SESSIONS: list[Callable[[ShapeEnv, int], None]] = [deep_model, many_sizes, renamed_sizes, one_size_narrowed]


def steps(session: Callable[[ShapeEnv, int], None], n: int) -> int:
    env = ShapeEnv()
    session(env, n)
    return env.knowledge.steps


@pytest.mark.parametrize("session", SESSIONS, ids=lambda s: s.__name__)
def test_cost_is_near_linear(session: Callable[[ShapeEnv, int], None]) -> None:
    small, large = steps(session, 150), steps(session, 600)
    assert large <= 4 * small * 1.5, f"{small} steps for 150 layers, {large} for 600"


def test_thousands_of_facts_take_few_steps_each() -> None:
    assert steps(deep_model, 700) / 2100 < 60
