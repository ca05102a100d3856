"""Expressions as polynomials: arithmetic with each other, with ints and with bools is Python's; one form for each."""

from __future__ import annotations

import operator
import pickle
from itertools import product
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import FALSE, TRUE, Symbol, as_int, evaluate, float_const, le, maximum, to_float
from dynamo_lite.symbolic_shapes.expressions.expr import (
    INF,
    ONE,
    ZERO,
    Int,
    children,
    make_int,
    merge,
    split,
    symbols_of,
    total,
)
from tests.symbolic_shapes.operator_cases import PAIRS, SMALL, check, symbols

OPERATORS = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod)


def sums(x: Any, y: Any) -> list[Any]:
    """Polynomials of degree up to 3; of numbers they are numbers."""
    return [x, y, x + 1, x * 2 - y, x * y, x * x - 3, -x, y * x * x + x, x - y + 2, x * 0 + 3, x - x, y * -4]


@pytest.mark.parametrize("op", OPERATORS)
def test_arithmetic_is_pythons(op: Any) -> None:
    x, y = symbols("xy")
    count = len(sums(0, 0))
    for i, j in product(range(count), repeat=2):
        left, right = sums(x, y)[i], sums(x, y)[j]
        if op in (operator.floordiv, operator.mod) and right is ZERO:
            continue
        for _ in range(2):  # the second time, what was found is remembered
            check(op(left, right), lambda u, v, i=i, j=j: op(sums(u, v)[i], sums(u, v)[j]), (x, y), PAIRS[::3])
    for k in (*SMALL, 64, 65, -16, -17, True, 2**70):
        if k or op not in (operator.floordiv, operator.mod):
            check(op(x + 1, k), lambda u, v, k=k: op(u + 1, k), (x, y), PAIRS[::9])
            assert op(x + 1, k) is op(x + 1, int(k)) is op(x + 1, as_int(k))
        check(op(k, x + 1), lambda u, v, k=k: op(k, u + 1), (x, y), PAIRS[::9])
        assert op(k, x + 1) is op(int(k), x + 1) is op(as_int(k), x + 1)
    for other in (0.5, "x", None, le(x, 0)):
        with pytest.raises(TypeError):
            op(x, other)
        if other != "x" or op is not operator.mod:
            with pytest.raises(TypeError):
                op(other, x)
    fresh, = symbols("z")
    for true in (True, False):
        if true or op not in (operator.floordiv, operator.mod):
            check(op(fresh, true), lambda w, true=true: op(w, true), (fresh,), [(v,) for v in SMALL])
            assert type(op(fresh, true)) is Int


def test_other_operators_are_pythons() -> None:
    x, y = symbols("xy")
    points = [(u, n) for u in SMALL for n in range(4)]
    check(x**y, lambda u, n: u**n, (x, y), points)
    check(2**y, lambda u, n: 2**n, (x, y), points)
    check(x**3, lambda u, n: u**3, (x, y), points)
    check(abs(x - y), lambda u, v: abs(u - v), (x, y), PAIRS)
    negative = -x
    assert +x is x and -negative is x
    for op in (operator.add, operator.sub, operator.mul):  # with a float, a float
        check(op(x, float_const(0.5)), lambda u, v, op=op: op(float(u), 0.5), (x, y), PAIRS[::3])
    for op in (operator.le, operator.lt, operator.ge, operator.gt):
        check(op(x, y), op, (x, y), PAIRS)
        check(op(x, 2), lambda u, v, op=op: op(u, 2), (x, y), PAIRS)
        check(op(2, x), lambda u, v, op=op: op(2, u), (x, y), PAIRS)


def test_a_polynomial_has_one_form() -> None:
    x, y = symbols("xy")
    for a, b in product(sums(x, y), repeat=2):
        assert a + b is b + a and a * b is b * a and a - b is -(b - a) and (a + b) - b is a
        assert total([a, b, a]) is a * 2 + b is total(iter((a, a, b)))
        assert (a + b) * (a - b) is a * a - b * b
        assert all((a + b).terms.values()) and all((a * b).terms.values()) and all(total([a, -a, b]).terms.values())
    assert x - x is ZERO and x * 0 is ZERO and x * 1 is x and x + 0 is x and x * ONE is x
    assert make_int({}, 7) is as_int(7) is x * 0 + 7 and as_int(100_000) is as_int(99_999) + 1
    assert x.as_atom() is not None and x.as_atom().as_int() is x
    xy = merge((x.as_atom(),), (y.as_atom(),))
    assert xy == (x.as_atom(), y.as_atom()) == merge((y.as_atom(),), (x.as_atom(),))
    assert merge(xy, xy) == (x.as_atom(), x.as_atom(), y.as_atom(), y.as_atom())
    assert merge(xy, (x.as_atom(),)) == (x.as_atom(), x.as_atom(), y.as_atom()) == merge((x.as_atom(),), xy)


def test_what_is_an_integer() -> None:
    x = Symbol("x", -3, 8)
    assert as_int(x) is x.as_int() is as_int(x.as_int()) and as_int(True) is ONE and as_int(False) is ZERO
    assert [as_int(k).const for k in (*range(-20, 70), 2**70)] == [*range(-20, 70), 2**70]
    assert type(as_int(True).const) is int
    for other in (0.5, "x", None, TRUE, to_float(x.as_int())):
        with pytest.raises(TypeError, match="expected an integer"):
            as_int(other)  # type: ignore[arg-type]
    assert (x.lo, x.hi) == (-3, 8) and (Symbol("y").lo, Symbol("y").hi) == (-INF, INF)
    assert Symbol("z", 4, 4).lo == 4
    with pytest.raises(ValueError, match="empty range"):
        Symbol("z", 4, 3)
    with pytest.raises(TypeError, match="do not pickle"):
        pickle.dumps(x.as_int())


def test_looking_inside() -> None:
    x, y = symbols("xy")
    a, b = x.as_atom(), y.as_atom()
    assert [p.as_constant() for p in (as_int(5), ZERO, x, x + 1)] == [5, 0, None, None]
    assert x.as_atom() is a and not any(p.as_atom() for p in (x + 1, x * 2, x * x, x + y, as_int(1), -x))
    assert (y + x * 3 + x * y * 2 - x * x).sorted_terms() == [((a, a), -1), ((a, b), 2), ((a,), 3), ((b,), 1)]
    assert list((x * y + 3).atoms()) == [a, b]
    assert [p.content() for p in (x * 6 - y * 4 + 1, as_int(5), -x)] == [2, 0, 1]
    half = (x // 2).as_atom()
    assert set(children(x * y + half.as_int())) == {a, b, half} and children(half)[0] is x and children(a) == ()
    assert children(x * x) == (a,) and children(TRUE) == ()
    assert symbols_of(maximum(x // 3, y) + 1) == {a, b} == symbols_of(le(x, y))
    assert symbols_of(a) == {a} == symbols_of(to_float(x)) == symbols_of(le(x // 2, 4))
    assert symbols_of(FALSE) == frozenset() == symbols_of(as_int(3))
    assert bool(as_int(3)) is True and bool(ZERO) is False
    with pytest.raises(TypeError, match="is not known"):
        bool(x)


def test_a_polynomial_is_a_form_with_a_sign_and_a_constant() -> None:
    x, y = symbols("xy")
    for p in sums(x, y):
        if not p.terms:
            continue
        form, sign = split(p)
        assert form * sign + p.const is p and sign in (1, -1) and form.sorted_terms()[0][1] > 0
        assert split(p) == (form, sign) and split(-p) == (form, -sign) and split(p + 5) == (form, sign)


def test_what_is_remembered_is_not_kept_by_what_everybody_shares() -> None:
    x, = symbols("x")
    before = dict(ONE._memo)
    assert evaluate(ONE + x, {x.as_atom(): 4}) == 5 and ONE._memo == before
