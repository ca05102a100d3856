"""Floats, their rounding, comparisons and intervals against Python: small values, and those no float can be."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import (
    FALSE,
    TRUE,
    Bool,
    Float,
    Int,
    Symbol,
    as_bool,
    as_float,
    as_int,
    compare_floats,
    evaluate,
    float_const,
    float_symbol,
    int_truediv,
    ite,
    le,
    not_,
    round_float,
    to_float,
)
from dynamo_lite.symbolic_shapes.expressions.expr import Node
from dynamo_lite.symbolic_shapes.expressions.float_relations import never_nan, opaque_truth
from dynamo_lite.symbolic_shapes.expressions.floats import (
    ANY_FLOAT,
    EXACT,
    FLOAT_OPERATORS,
    ROUNDERS,
    apply_float,
    constant_of,
    end_to_float,
    float_interval,
    float_symbols_of,
    floor_of_float,
    has_unknown_float,
)
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval, interval
from dynamo_lite.symbolic_shapes.expressions.piecewise import exact_rounding
from dynamo_lite.symbolic_shapes.expressions.relations import FloatRelation
from tests.symbolic_shapes.operator_cases import PAIRS, check, symbols

INF = math.inf
COMPARED: dict[str, Callable[[Any, Any], bool]] = {"lt": operator.lt, "le": operator.le, "eq": operator.eq}


# -- rounding of floats -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("op", ROUNDERS)
def test_a_number_is_rounded_as_python_does(op: str) -> None:
    for value in (-2.5, -1.5, -1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 0.7, 1.0, 1.5, 2.5, 1e20):
        assert round_float(op, float_const(value)) is as_int(ROUNDERS[op](value))
        assert floor_of_float(op, value) == ROUNDERS[op](value)
    for value in (INF, -INF):
        assert floor_of_float(op, value) == value
        with pytest.raises(OverflowError):
            round_float(op, float_const(value))
    with pytest.raises(ValueError, match="NaN"):
        round_float(op, float_const(math.nan))


@pytest.mark.parametrize("op", ROUNDERS)
@pytest.mark.parametrize(("lo", "hi", "exact"), [
    (-EXACT, EXACT, True), (0, EXACT, True), (-EXACT, 0, True), (-EXACT - 1, 0, False), (0, EXACT + 1, False),
    (-INF, EXACT, False), (-EXACT, INF, False), (-INF, INF, False), (EXACT + 1, EXACT + 1, False),
    (-EXACT - 1, -EXACT - 1, False)])
def test_a_converted_integer_is_itself_where_floats_are_exact(op: str, lo: float, hi: float, exact: bool) -> None:
    p = Symbol("p", lo, hi).as_int()
    node = round_float(op, to_float(p))
    assert (node is p) is exact
    for value in (-EXACT - 1, -EXACT, -1, 0, 3, EXACT, EXACT + 1):
        if lo <= value <= hi:
            assert evaluate(node, {p.as_atom(): value}) == ROUNDERS[op](float(value))


QUOTIENTS: list[tuple[Callable[[Any, Any], Float], Callable[[int, int], float]]] = [
    (lambda a, b: int_truediv(a, b), lambda a, b: a / b),
    (lambda a, b: int_truediv(a, 4), lambda a, b: a / 4),
    (lambda a, b: int_truediv(a, -4), lambda a, b: a / -4),
    (lambda a, b: int_truediv(7, b), lambda a, b: 7 / b),
    *((lambda a, b, c=c: to_float(a) * c, lambda a, b, c=c: a * c)
      for c in (0.5, -0.5, 0.75, 2.0, -3.0, 2.0**-52, 2.0**-53, 2.0**-54, 3 * 2.0**52, 2.0**53, 2.0**53 + 2, 0.0, 0.1)),
    *((lambda a, b, c=c: to_float(a) / c, lambda a, b, c=c: a / c)
      for c in (4.0, 1.0, -4.0, 0.5, 3.0, 2.0**53, 2.0**54, INF)),
    *((lambda a, b, c=c: float_const(c) / to_float(a), lambda a, b, c=c: c / a) for c in (4.0, 0.5)),
    (lambda a, b: to_float(a) * INF, lambda a, b: a * INF),
    (lambda a, b: to_float(a) * to_float(b), lambda a, b: a * b),
    (lambda a, b: 0.5 * to_float(a), lambda a, b: 0.5 * a), (lambda a, b: to_float(a) + 0.5, lambda a, b: a + 0.5),
    (lambda a, b: to_float(a), lambda a, b: float(a)), (lambda a, b: int_truediv(a, b) * 2.0, lambda a, b: a / b * 2.0)]
AT = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 30, *(2**k + d for k in (49, 51, 53, 54) for d in (-1, 0, 1))]
AT = [*AT, *(-v for v in AT)]


@pytest.mark.parametrize("op", ROUNDERS)
def test_the_integer_that_a_rounding_makes_in_its_bounds_is_pythons(op: str) -> None:
    a, b = symbols("ab")
    for build_node, python in QUOTIENTS:
        node = build_node(a, b)
        image, bounds = exact_rounding(op, node)
        assert TRUE not in bounds
        if image is None:
            assert not bounds
            continue
        for u, v in product(AT, (1, 2, 3, 4, 8, 0, -1, -2, 2**51, 2**51 + 1, 2**53 + 1)):
            values = {a.as_atom(): u, b.as_atom(): v}
            if all(evaluate(bound, values) for bound in bounds):
                assert evaluate(image, values) == ROUNDERS[op](python(u, v)), (op, node, u, v)


def test_which_roundings_are_exact_where() -> None:
    """The bounds that the docstring of exact_rounding states, no narrower."""
    a, b = symbols("ab")
    small = EXACT // 4

    def reach(x: Float) -> set[Bool] | None:
        image, bounds = exact_rounding("floor", x)
        return None if image is None else set(bounds)

    ends = {a <= small, a >= -small}
    assert reach(to_float(a)) == {a <= EXACT, a >= -EXACT}
    assert reach(int_truediv(a, b)) == {*ends, b >= 1, b <= small}
    assert reach(to_float(a) / 4.0) == ends == reach(to_float(a) / 1.0)
    assert ends == reach(to_float(a) / float(small)) == reach(to_float(a) * 2.0**-51)
    assert reach(to_float(a) / float(EXACT)) == {*ends, FALSE}
    assert reach(to_float(a) * 0.75) == {a * 3 <= small, a * 3 >= -small} == reach(0.75 * to_float(a))
    assert reach(to_float(a) * float(EXACT)) == {a <= 0, a >= 0}
    for none in (to_float(a) / 0.5, to_float(a) / -4.0, to_float(a) / 2.5, 4.0 / to_float(a), to_float(a) * INF,
                 to_float(a) * math.nan, to_float(a) + 1.0, to_float(a) * 0.0, to_float(a) * to_float(b),
                 to_float(a) * 1e300, to_float(a) * 2.0**-60, int_truediv(a, b) * 2.0,
                 apply_float("sqrt", to_float(a))):
        assert reach(none) is None, none


# -- comparisons of floats ----------------------------------------------------------------------------------------
CONSTANTS = [-2.5, -2.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 3.0, 2.0**53 - 1, 2.0**53, -(2.0**53), 1e300, INF, -INF,
             math.nan]
FAR = [*range(-4, 5), *(s * (2**53 + d) for s in (1, -1) for d in (-2, -1, 0, 1, 2))]


@pytest.mark.parametrize("op", COMPARED)
def test_comparing_floats_is_pythons(op: str) -> None:
    compare = COMPARED[op]
    for c, d in product(CONSTANTS, repeat=2):
        assert compare_floats(op, c, d) is as_bool(compare(c, d))
    for lo, hi in ((-INF, INF), (-EXACT, EXACT), (-EXACT, EXACT + 1), (-EXACT - 1, EXACT), (0, EXACT)):
        p, q = symbols("pq", lo, hi)
        points = [v for v in FAR if lo <= v <= hi]
        for c in CONSTANTS:
            check(compare_floats(op, p, c), lambda v, c=c: compare(float(v), c), (p,), [(v,) for v in points])
            check(compare_floats(op, c, p), lambda v, c=c: compare(c, float(v)), (p,), [(v,) for v in points])
        check(compare_floats(op, p, q), lambda u, v: compare(float(u), float(v)), (p, q),
              list(product(points, repeat=2)))
        check(compare_floats(op, int_truediv(p, 3), 0.5), lambda v: compare(v / 3, 0.5), (p,), [(v,) for v in points])
        exact = lo >= -EXACT and hi <= EXACT
        assert isinstance(compare_floats(op, p, q), FloatRelation) is not exact
        assert not isinstance(compare_floats(op, p, 2.0**53 - 1), FloatRelation)
        assert not isinstance(compare_floats(op, -(2.0**53) + 1, p), FloatRelation)
        for c in (2.0**53, -(2.0**53)):
            assert isinstance(compare_floats(op, p, c), FloatRelation)
            assert isinstance(compare_floats(op, c, p), FloatRelation)
        for none in (compare_floats(op, int_truediv(p, 3), math.nan), compare_floats(op, math.nan, int_truediv(p, 3))):
            assert none is FALSE
    wide, narrow = Symbol("wide").as_int(), Symbol("narrow", 0, 9).as_int()
    assert isinstance(compare_floats(op, wide, narrow), FloatRelation)
    assert isinstance(compare_floats(op, narrow, wide), FloatRelation)


def some_floats(x: Int, y: Int) -> list[Float]:
    u, v = to_float(x), to_float(y)
    return [u, v, int_truediv(x, y), int_truediv(y, x), u + v, u - v, u * v, -u, u * 0.5, u + INF, u * INF,
            u - math.nan, apply_float("sqrt", u), apply_float("sqrt", u) - v, u / v, apply_float("exp", u), u**2.0,
            (u + v) * (u - v), float_const(INF), float_const(0.5), float_const(math.nan), -(u + INF),
            float_const(-1.0), u * 1e308 * 1e10, u * 1e308 - v * 1e308]


ENDS: list[Interval] = [(-INF, INF), (-3, -1), (-2, 0), (0, 0), (0, 2), (1, 3), (2, 2), (0, INF), (-INF, -1), (2, INF),
                        (2**1100, INF), (-INF, -(2**1100)), (1, 2**1100)]


def inside(ends: Interval) -> list[int]:
    return [v for v in (-(2**1100), -(2**60), *range(-3, 4), 2**60, 2**1100) if ends[0] <= v <= ends[1]]


def values_in(node: Node, a: Int, b: Int, left: Interval, right: Interval) -> list[Any]:
    """Values of the node at points of a box, where Python has one."""
    found = []
    for u, v in product(inside(left), inside(right)):
        try:
            found.append(evaluate(node, {a.as_atom(): u, b.as_atom(): v}))
        except (ArithmeticError, ValueError):
            continue
    return found


def test_the_interval_of_a_float_contains_every_value_that_is_a_number() -> None:
    x, y = symbols("xy")
    for left, right in product(ENDS, repeat=2):
        ranges: dict[Any, Interval] = {x.as_atom(): left, y.as_atom(): right}

        def of_int(p: Int, ranges: dict[Any, Interval] = ranges) -> Interval:
            return interval(p, ranges.__getitem__)

        for node in some_floats(x, y):
            lo, hi = float_interval(node, of_int)
            found = values_in(node, x, y, left, right)
            assert all(lo <= value <= hi for value in found if value == value), (node, left, right, lo, hi)
            if never_nan(node, of_int):
                assert all(value == value for value in found), (node, left, right)
            finite = INF not in (left[1], right[1], -left[0], -right[0])
            if finite and abs(left[1]) < 9 > abs(right[1]) and node.op in ("to_float", "add", "sub", "neg") and found \
                    and all(isinstance(a, Int) or a.op == "to_float" for a in node.args):
                assert (lo, hi) == (min(found), max(found)), (node, left, right)
    for node in (to_float(x) / to_float(y), apply_float("sin", to_float(x)), to_float(x) + math.nan):
        assert float_interval(node, lambda p: (1, 2)) == ANY_FLOAT


def test_functions_that_are_not_negative() -> None:
    """log and log2 from 1 on, exp anywhere; of other arguments nothing is known."""
    (x,) = symbols("x")
    for name, function in (("log", math.log), ("log2", math.log2), ("exp", math.exp)):
        for low, high in product((-700, -2, 0, 1, 2, 700), repeat=2):
            found = float_interval(apply_float(name, to_float(x)), lambda p, ends=(low, high): ends)  # type: ignore[misc]
            if low > high or (name != "exp" and low < 1):
                assert low > high or found == ANY_FLOAT
                continue
            assert found == (0.0, INF) and all(function(value) >= 0 for value in range(low, high + 1))


def test_what_intervals_say_of_compared_floats_is_so() -> None:
    x, y = symbols("xy")
    said = {True: 0, False: 0}
    nodes = some_floats(x, y)
    comparisons = [compare_floats(op, a, b) for op in COMPARED for a in nodes[:14] for b in nodes[6:22:2]]
    comparisons += [compare_floats(op, a, c) for op in COMPARED for a in nodes for c in (0.0, 0.5, 3.0, INF, -INF)]
    comparisons += [compare_floats(op, c, a) for op in COMPARED for a in nodes for c in (0.5, INF, -INF)]
    boxes = list(product(ENDS[1:8], ENDS[1:8:2]))
    for relation, (left, right) in product(dict.fromkeys(comparisons), boxes):
        if not isinstance(relation, FloatRelation):
            continue
        ranges: dict[Any, Interval] = {x.as_atom(): left, y.as_atom(): right}
        for claim in (relation, not_(relation)):
            truth = opaque_truth(claim, lambda p, ranges=ranges: interval(p, ranges.__getitem__))  # type: ignore
            if truth is not None:
                said[truth] += 1
                assert all(value is truth for value in values_in(claim, x, y, left, right)), (claim, left, right)
    assert min(said.values()) > 500


def test_what_intervals_can_say_of_compared_floats() -> None:
    x, y = symbols("xy")
    third = int_truediv(x, y)

    def truth(relation: Bool, left: Interval, right: Interval) -> bool | None:
        assert isinstance(relation, FloatRelation)
        return opaque_truth(relation, lambda p: interval(p, {x.as_atom(): left, y.as_atom(): right}.__getitem__))

    table: list[tuple[str, float, bool | None]] = [
        ("lt", 2.0, None), ("lt", 2.5, True), ("lt", 1.0, False), ("lt", 0.5, False), ("le", 2.0, True),
        ("le", 1.0, None), ("le", 0.5, False), ("eq", 2.0, None), ("eq", 2.5, False), ("eq", 1.0, None),
        ("eq", 0.5, False)]
    for op, c, known in table:
        assert truth(compare_floats(op, third, c), (2, 4), (2, 2)) is known, (op, c)
        assert truth(not_(compare_floats(op, third, c)), (2, 4), (2, 2)) is (None if known is None else not known)
    assert truth(compare_floats("eq", third, 2.0), (4, 4), (2, 2)) is True
    root, unknown = apply_float("sqrt", to_float(x)), to_float(x) / to_float(y)
    assert truth(compare_floats("le", root, 2.0), (0, 4), (1, 1)) is True
    assert truth(compare_floats("le", unknown, INF), (0, 4), (1, 1)) is None
    assert truth(compare_floats("lt", float_symbol("f"), INF), (0, 4), (1, 1)) is None
    assert truth(compare_floats("le", root - INF, 2.0), (0, INF), (1, 1)) is None  # inf - inf is no number


# -- floats themselves --------------------------------------------------------------------------------------------
def test_float_operators_are_pythons() -> None:
    x, y = symbols("xy")
    u, v = to_float(x), to_float(y)
    real = [p for p in PAIRS if p[0] > 0]  # the root of a negative number is complex
    for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow):
        check(op(u, v), lambda a, b, op=op: op(float(a), float(b)), (x, y), real if op is operator.pow else PAIRS)
        check(op(u, 3), lambda a, b, op=op: op(float(a), 3.0), (x, y), PAIRS)
        if op is not operator.pow:
            check(op(2.5, u), lambda a, b, op=op: op(2.5, float(a)), (x, y), PAIRS)
            assert op(float_const(2.5), 0.5) is float_const(op(2.5, 0.5)) is op(2.5, float_const(0.5))
    check(-u, lambda a, b: -float(a), (x, y), PAIRS)
    for name in ("abs", "sqrt", "exp", "trunc_float"):
        check(apply_float(name, u), lambda a, b, name=name: FLOAT_OPERATORS[name](float(a)), (x, y), PAIRS)
    assert apply_float("trunc_float", float_const(-2.5)) is float_const(-2.0)
    check(int_truediv(x, y), operator.truediv, (x, y), PAIRS)


def test_float_constants_and_symbols() -> None:
    assert float_const(0.0) is not float_const(-0.0) and float_const(math.nan) is float_const(float("nan"))
    assert float_const(2) is float_const(2.0) is as_float(2.0) is as_float(2) is to_float(2) is int_truediv(6, 3)
    assert as_float(float_const(0.5)) is float_const(0.5)
    x, = symbols("x")
    known, unknown = float_symbol("f", 1.5), float_symbol("f")
    assert known is not unknown and float_symbol("f") is not unknown
    nested = ite(le(round_float("floor", known * to_float(x)), 3), x, round_float("ceil", unknown / 2.0))
    assert float_symbols_of(nested) == {known, unknown} and has_unknown_float(nested)
    assert float_symbols_of(nested + x * 2 - 1) == {known, unknown}
    assert float_symbols_of(known + 1.0) == {known} and not has_unknown_float(known + to_float(x))
    assert float_symbols_of(x + 1) == frozenset() == float_symbols_of(x // 3)
    assert evaluate(known + unknown, {known: 0.5, unknown: 2.0}) == 2.5
    assert [constant_of(n) for n in (as_int(3), x, float_const(0.5), known, TRUE)] == [3, None, 0.5, None, None]
    assert to_float(x) * 1.0 is to_float(x) is 1.0 * to_float(x) and to_float(x) * 2.0 is not to_float(x)
    assert to_float(x) is to_float(x) and known * 1.0 is known
    with pytest.raises(OverflowError):
        to_float(2**1100)
    with pytest.raises(ZeroDivisionError):
        int_truediv(3, 0)


def test_ends_that_no_float_is_are_infinite() -> None:
    for value in (0, 3, -7, 2**60, INF, -INF):
        assert end_to_float(value) == value
    assert end_to_float(2**1100) == INF and end_to_float(-(2**1100)) == -INF


def test_the_interval_of_a_quotient_is_as_sharp_as_its_ends() -> None:
    x, y = symbols("xy")
    node, big = int_truediv(x, y), 2**1100

    def ends(a: Interval, b: Interval) -> Interval:
        return float_interval(node, {x: a, y: b}.__getitem__)

    assert ends((1, 6), (2, 4)) == (0.25, 3.0) and ends((-6, 1), (2, 4)) == (-3.0, 0.5)
    assert ends((1, 6), (-4, -2)) == (-3.0, -0.25) and ends((3, 3), (3, 3)) == (1.0, 1.0)
    assert ends((1, INF), (1, 4)) == (0.25, INF) and ends((-INF, -1), (-4, -1)) == (0.25, INF)
    assert ends((1, INF), (2, 4)) == (0.25, INF) and ends((-INF, -1), (2, 4)) == (-INF, -0.25)
    assert ends((1, INF), (-4, -2)) == (-INF, -0.25) and ends((-INF, -1), (-4, -2)) == (0.25, INF)
    assert ends((4, 6), (2, INF)) == (0.0, 3.0) and ends((-6, -4), (-INF, -2)) == (0.0, 3.0)
    assert ends((1, INF), (2, INF)) == (0.0, INF) and ends((1, INF), (-INF, -1)) == (-INF, 0.0)
    assert ends((1, big), (1, 1)) == (1.0, INF) and ends((-big, -1), (1, 1)) == (-INF, -1.0)
    assert ends((1, big), (-1, -1)) == (-INF, -1.0) and ends((-big, -1), (-1, -1)) == (1.0, INF)
    for divisor in ((-1, 1), (0, 3), (-3, 0), (0, 0), (-INF, INF)):
        assert ends((1, 6), divisor) == ANY_FLOAT
