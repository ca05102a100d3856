"""Rounding a product or quotient of an integer and a float constant: in its bounds the image is the value of Python."""

from __future__ import annotations

import random

import pytest

from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import Int, Symbol
from dynamo_lite.symbolic_shapes.expressions.floats import (
    ANY_FLOAT,
    ROUNDERS,
    Float,
    apply_float,
    float_const,
    float_interval,
    to_float,
)
from dynamo_lite.symbolic_shapes.expressions.piecewise import exact_rounding

CONSTANTS = [0.5, 0.75, 0.25, 1.5, 2.0, 3.0, 0.3, 0.1, -0.5, -0.75, 1e-3, 2.0**-20, 1e10, -3.0, 7.0, 2.0**52, 2.0**53]
EDGES = [0, 1, 2, 3, 5, 7, 8, 9, 101, 2**31, *(2**k + d for k in (50, 51, 52, 53, 60) for d in (-1, 0, 1))]


def floats_of(n: Int, c: float) -> list[Float]:
    k = float_const(c)
    return [to_float(n) * k, k * to_float(n), to_float(n) / k, k / to_float(n), to_float(n * 3 + 1) * k]


@pytest.mark.parametrize("c", CONSTANTS)
def test_the_image_is_pythons_value_in_its_bounds(c: float) -> None:
    n = ShapeEnv().backed(7)
    symbol = n.as_atom()
    generator = random.Random(0)
    values = [*EDGES, *(-v for v in EDGES), *(generator.randint(-(2**54), 2**54) for _ in range(60))]
    for x in floats_of(n, c):
        for op, rounder in ROUNDERS.items():
            image, bounds = exact_rounding(op, x)
            if image is None:
                continue
            for value in values:
                if all(evaluate(bound, {symbol: value}) for bound in bounds):
                    assert evaluate(image, {symbol: value}) == rounder(evaluate(x, {symbol: value})), (x, op, value)


@pytest.mark.parametrize("c", [0.5, 0.75, 2.0])
def test_a_share_of_a_size_is_at_most_a_multiple_of_it(c: float) -> None:
    env = ShapeEnv()
    n = env.backed(7, lo=0, hi=4096)
    from dynamo_lite.symbolic_shapes.expressions.piecewise import round_float

    part = round_float("trunc", to_float(n) * float_const(c))
    assert env.decide(part <= n * 2).verdict is True
    assert env.decide(part >= 0).verdict is True
    assert env.decide(part <= n).verdict is (True if c <= 1 else None)


@pytest.mark.parametrize("divisor", [(1, 0), (0, -1), (3, -2)])
def test_a_divisor_that_no_integer_is(divisor: tuple[int, int]) -> None:
    # Ends cross under an assumption that is being refuted: whatever holds of nothing, no division by an end fails.
    a, b = Symbol("a").as_int(), Symbol("b").as_int()
    ranges = {a: (4, 8), b: divisor}
    assert float_interval(apply_float("int_truediv", a, b), ranges.__getitem__) == ANY_FLOAT


@pytest.mark.parametrize("value", [0.0, -0.0, 2.5, -1e300, float("inf"), float("nan")])
def test_one_times_a_float_is_the_float(value: float) -> None:
    # A guard on float(n) is printed as 1.0 * n: the advice to check it has to be the question.
    assert repr(1.0 * value) == repr(value)
    n = Symbol("n").as_int()
    assert to_float(n) * 1.0 is 1.0 * to_float(n) is to_float(n)
    assert (float_const(value) * 1.0) is float_const(value)


def test_a_rounded_part_of_a_number_is_at_most_the_number() -> None:
    from dynamo_lite.symbolic_shapes.expressions.floats import int_truediv
    from dynamo_lite.symbolic_shapes.expressions.piecewise import round_float
    from dynamo_lite.symbolic_shapes.proofs import checker

    env = ShapeEnv()
    n, m = env.backed(7, lo=0), env.backed(7)
    for x, holds in [(to_float(n) * 0.3, True), (to_float(n) * 0.999, True), (int_truediv(n, 2), True),
                     (to_float(n) * 1.1, None), (to_float(m) * 0.3, None)]:  # fmt: skip
        for op in ROUNDERS:
            whole = m if x.args[0] is to_float(m) else n
            answer = env.decide(round_float(op, x) <= whole)
            assert answer.verdict is holds, (x, op)
            if answer.certificate is not None:
                checker.verify(answer.certificate)
    for value in EDGES:
        for c in (0.3, 0.999, 1 - 2.0**-50):
            assert all(rounder(float(value) * c) <= value for rounder in ROUNDERS.values())


def test_a_number_less_its_minimum_with_another_is_not_negative() -> None:
    from dynamo_lite.symbolic_shapes.expressions.piecewise import minimum

    env = ShapeEnv()
    n, m = env.backed(7, lo=0), env.backed(9, lo=0)
    assert env.decide(m * ((n - minimum(n, m)) // 2) >= 0).verdict is True
    assert env.decide(m * ((n - minimum(n, m) - 1) // 2) >= 0).verdict is None
