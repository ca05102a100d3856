"""Canonical forms keep their value: all small terms over a small domain, and random ones beyond it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite.symbolic_shapes import (
    Symbol,
    as_int,
    ceildiv,
    eq,
    evaluate,
    floordiv,
    maximum,
    minimum,
    power,
    round_float,
    round_int,
    to_python,
)
from dynamo_lite.symbolic_shapes.expressions.intervals import declared
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.converters import FromSympy, PlainSymbols, ToSympy
from tests.symbolic_shapes.oracle import (
    AT_ZERO,
    COMPARE,
    OURS,
    Mismatch,
    Term,
    assignments,
    check_value_preserved,
    deeper_terms,
    our_node,
    our_value,
    python_table,
    python_value,
    shallow_terms,
)

RANGES = [(-math.inf, math.inf), (1, 3), (-3, -1), (0, 2)]
INT_OPS = ("+", "-", "*", "//", "%", "max", "min", "ceildiv")


def symbols_in(lo: float, hi: float, names: str = "xy") -> dict[str, Any]:
    return {name: Symbol(name, lo, hi).as_int() for name in names}


def points_in(lo: float, hi: float, names: str = "xy") -> list[dict[str, int]]:
    domain = range(-3, 4) if math.isinf(lo) else range(int(lo), int(hi) + 1)
    return assignments(names, domain)


@pytest.mark.parametrize(("lo", "hi"), RANGES)
def test_every_small_term_keeps_its_value(lo: float, hi: float) -> None:
    symbols, points = symbols_in(lo, hi), points_in(lo, hi)
    terms = itertools.chain(
        shallow_terms(("x", "y", -3, 0, 2, 3)),
        deeper_terms(("x", -2, 3), ("+", "//", "%", "max"), ("+", "*", "//", "%", "max")),
        deeper_terms(("x", "y"), ("//", "%", "max"), ("+", "*", "//")),
    )
    for term in terms:
        check_value_preserved(term, symbols, points)


def integer_terms(leaves_at_most: int = 8) -> st.SearchStrategy[Term]:
    leaves = st.one_of(st.sampled_from("xyz"), st.integers(-9, 9), st.sampled_from([2**53 + 1, -(2**64), 2**70]))
    return st.recursive(leaves, lambda t: st.one_of(
        st.tuples(st.sampled_from(INT_OPS), t, t),
        st.tuples(st.sampled_from(("abs", "neg")), t),
        st.tuples(st.just("ite"), st.tuples(st.sampled_from(COMPARE), t, t), t, t),
        st.tuples(st.just("round"), t, st.integers(-2, 1)),
    ), max_leaves=leaves_at_most)


def boolean_terms() -> st.SearchStrategy[Term]:
    comparison = st.tuples(st.sampled_from(COMPARE), integer_terms(), integer_terms())
    return st.recursive(comparison, lambda t: st.one_of(
        st.tuples(st.sampled_from(("and", "or")), t, t), st.tuples(st.just("not"), t)), max_leaves=3)


BIG = st.one_of(st.integers(-12, 12), st.sampled_from([2**53 + 1, -(2**63) - 5, 2**80]))
POINTS = st.lists(st.fixed_dictionaries(dict.fromkeys("xyz", BIG)), min_size=1, max_size=4)


@settings(max_examples=300, deadline=None)
@given(st.one_of(integer_terms(), boolean_terms()), POINTS)
def test_random_terms_keep_their_value(term: Term, points: list[dict[str, int]]) -> None:
    check_value_preserved(term, symbols_in(-math.inf, math.inf, "xyz"), points)


@settings(max_examples=200, deadline=None)
@given(st.one_of(integer_terms(), boolean_terms()))
def test_rebuilding_a_canonical_form_changes_nothing(term: Term) -> None:
    symbols = symbols_in(-math.inf, math.inf, "xyz")
    try:
        node = our_node(term, symbols)
    except ZeroDivisionError:
        return
    swap = {symbols["x"].as_atom(): symbols["y"], symbols["y"].as_atom(): symbols["x"]}
    fresh = Symbol("t").as_int()
    there = substitute(node, {symbols["z"].as_atom(): fresh})
    assert substitute(there, {fresh.as_atom(): symbols["z"]}) is node or _same_value(node, there, symbols, fresh)
    assert substitute(node, {}) is node
    assert substitute(node, swap) is not None


def _same_value(node: Any, there: Any, symbols: dict[str, Any], fresh: Any) -> bool:
    """The order of atoms (by age) may choose another of two equal forms; then they must at least agree."""
    back = substitute(there, {fresh.as_atom(): symbols["z"]})
    for point in assignments("xyz", range(-3, 4)):
        values = {symbols[n].as_atom(): v for n, v in point.items()}
        if any(our_value(node, values, z) != our_value(back, values, z) for z in AT_ZERO):
            return False
    return True


@settings(max_examples=200, deadline=None)
@given(integer_terms(), st.tuples(st.integers(-5, 0), st.integers(0, 5)))
def test_bounds_contain_every_value(term: Term, ends: tuple[int, int]) -> None:
    symbols = symbols_in(*ends, names="xyz")
    try:
        node = our_node(term, symbols)
    except ZeroDivisionError:
        return
    lo, hi = declared(node)
    for at_zero in AT_ZERO:
        for point in assignments("xyz", range(ends[0], ends[1] + 1))[::7]:
            value = python_value(term, point, python_table(at_zero))
            assert lo <= value <= hi


@settings(max_examples=200, deadline=None)
@given(st.one_of(integer_terms(), boolean_terms()), POINTS)
def test_printed_python_has_the_same_value(term: Term, points: list[dict[str, int]]) -> None:
    symbols = symbols_in(-math.inf, math.inf, "xyz")
    try:
        node = our_node(term, symbols)
    except ZeroDivisionError:
        return
    text = to_python(node)
    for point in points:
        try:
            expected = evaluate(node, {symbols[n].as_atom(): v for n, v in point.items()})
        except ZeroDivisionError:
            continue
        assert eval(text, {"max": max, "min": min}, dict(point)) == expected, text


@settings(max_examples=60, deadline=None)
@given(st.one_of(integer_terms(4), st.tuples(st.sampled_from(COMPARE), integer_terms(3), integer_terms(2))), POINTS)
def test_sympy_and_back(term: Term, points: list[dict[str, int]]) -> None:
    symbols = symbols_in(-math.inf, math.inf, "xyz")
    try:
        node = our_node(term, symbols)
    except ZeroDivisionError:
        return
    names = PlainSymbols()
    back_names = {names(s.as_atom()): s for s in symbols.values()}
    try:
        back = FromSympy(back_names)(ToSympy(names)(node))
    except ZeroDivisionError:
        return
    for point in points:
        values = {symbols[n].as_atom(): v for n, v in point.items()}
        try:
            expected = evaluate(node, values)
        except ZeroDivisionError:
            continue
        assert evaluate(back, values) == expected


def test_equal_expressions_are_one_object() -> None:
    x, y = Symbol("x").as_int(), Symbol("y").as_int()
    assert (x // 8) * 8 + x % 8 is x
    assert x + y - y is x
    assert ceildiv(x, 8) is (x + 7) // 8
    assert (x // 4) // 2 is x // 8
    assert maximum(8 * x, 8 * y) is 8 * maximum(x, y)
    assert minimum(x, maximum(x, x)) is x
    assert eq(x, y) is eq(y, x)
    assert as_int(True) is as_int(1)


def test_a_positive_divisor_cancels_and_one_that_may_be_zero_does_not() -> None:
    x, positive, any_ = Symbol("x").as_int(), Symbol("p", 1).as_int(), Symbol("d").as_int()
    assert (x * positive) // positive is x
    assert (x * any_) // any_ is not x
    with pytest.raises(ZeroDivisionError):
        x // 0


def test_floats_are_refused_by_integer_operators() -> None:
    x = Symbol("x").as_int()
    assert x + 1 is x + True
    with pytest.raises(TypeError):
        x + 1.0  # type: ignore[operator]


def test_python_semantics_of_negative_operands_survive_sympy() -> None:
    x = Symbol("x").as_int()
    names = PlainSymbols()
    remainder = ToSympy(names)(x % -3)
    assert [int(remainder.subs(names(x.as_atom()), v)) for v in (-4, -1, 0, 5)] == [v % -3 for v in (-4, -1, 0, 5)]
    assert isinstance(remainder, sympy.Basic)


def test_the_oracle_sees_a_wrong_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OURS, "//", ceildiv)
    with pytest.raises(Mismatch):
        check_value_preserved(("//", "x", 2), symbols_in(-math.inf, math.inf), points_in(-math.inf, math.inf))


def test_a_product_that_is_divided_by_keeps_its_parentheses() -> None:
    """Printed as `x // x*y`, which Python reads as `(x // x)*y`."""
    x, y = Symbol("x").as_int(), Symbol("y").as_int()
    assert eval(to_python(x // (x * y)), {"x": 1, "y": 2}) == 0
    assert eval(to_python(x % (x * y)), {"x": 1, "y": 2}) == 1


def test_a_quotient_by_a_zero_that_was_put_in_is_divided_again() -> None:
    """x // 0 is some integer, so x // 0 // 2 is one; the law for nested divisors once divided by 0 * 2."""
    x, y = Symbol("x").as_int(), Symbol("y").as_int()
    quotient = substitute(x // y, {y.as_atom(): as_int(0)})  # type: ignore[dict-item]
    for at_zero in AT_ZERO:
        for value in (-3, 0, 7):
            assert our_value((quotient + 1) // 2, {x.as_atom(): value}, at_zero) == (at_zero + 1) // 2


@pytest.mark.parametrize("base", [(0, 0), (0, 1), (0, 3), (1, 2), (-2, 2), (-2, -1)])
@pytest.mark.parametrize("exponent", [(0, 0), (0, 2), (1, 3)])
def test_bounds_of_a_power_contain_every_value(base: tuple[int, int], exponent: tuple[int, int]) -> None:
    """0**0 is 1: once the bounds of 0**n were (0, 0)."""
    x, n = Symbol("x", *base).as_int(), Symbol("n", *exponent).as_int()
    for b, e in itertools.product(range(base[0], base[1] + 1), range(exponent[0], exponent[1] + 1)):
        for p in (power(x, n), power(as_int(b), n), power(x, as_int(e))):
            lo, hi = declared(p)
            assert lo <= b**e <= hi, (b, e, p)


def test_functions_take_plain_numbers() -> None:
    n = Symbol("n").as_int()
    assert (power(n, 2), power(2, 3)) == (n * n, as_int(8))
    assert (floordiv(n, 1), floordiv(-7, 2), ceildiv(7, 2)) == (n, as_int(-4), as_int(4))
    assert round_float("ceil", 2.5) is as_int(3)
    assert (maximum(n, n), minimum(2, 3), round_int(15, -1)) == (n, as_int(2), as_int(20))
