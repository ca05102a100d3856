"""Every operator with every other, floats and propositions among them: value, bounds, text, sympy's form and back.

The values are Python's, at small numbers and beyond 2**53, 2**63 and what a float holds (float(2**2000) raises).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite.symbolic_shapes import (
    Bool,
    ContradictoryFacts,
    Int,
    ShapeEnv,
    Symbol,
    as_int,
    evaluate,
    or_,
    power,
    to_python,
)
from dynamo_lite.symbolic_shapes.expressions.intervals import declared, declared_atom, truth_interval
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.converters import FromSympy, PlainSymbols, ToSympy
from dynamo_lite.symbolic_shapes.torch_node.sympy_functions import TORCH, TorchSymbols
from tests.symbolic_shapes.oracle import COMPARE, Term, our_node, python_table, python_value

RAISED = (ArithmeticError, ValueError)
"""What Python raises where an expression has no value: there is nothing to compare then."""
def natural_power(base: int, exponent: int) -> int:
    """base ** exponent; ValueError where Python would give a float, and where the number is too long to wait for."""
    if exponent < 0 or exponent > 100:
        raise ValueError
    return int(base**exponent)


PYTHON = python_table(0) | {"//": operator.floordiv, "%": operator.mod, "ceildiv": lambda a, b: -(-a // b),
                            "pow": natural_power}
"""Python's meaning, which raises where x // 0 is."""
HUGE = [2**53 + 1, -(2**53) - 1, 2**63, -(2**63) - 5, 2**64 + 3, 2**2000, -(2**2000)]
CONSTANTS = [0.0, -0.0, 0.5, 2.0, -1.5, 3.0, 0.1, 1e300, math.inf, -math.inf, math.nan]


def integers(depth: int, floats: bool) -> st.SearchStrategy[Term]:
    """Terms of every integer operator; rounded floats, where wanted."""
    leaf = st.one_of(st.sampled_from("xyz"), st.integers(-4, 8), st.sampled_from([2**53 + 1, -(2**63)]))
    if not depth:
        return leaf
    t = integers(depth - 1, floats)
    kinds = [
        st.tuples(st.sampled_from(("+", "-", "*", "//", "%", "max", "min", "ceildiv")), t, t),
        st.tuples(st.sampled_from(("abs", "neg")), t), st.tuples(st.just("ite"), truths(depth - 1, floats), t, t),
        st.tuples(st.just("pow"), t, st.integers(0, 3)), st.tuples(st.just("round"), t, st.integers(-2, 1)),
    ]
    if floats:
        kinds.append(st.tuples(st.sampled_from(("floor", "ceil", "trunc", "to_even")), numbers(depth - 1)))
    return st.one_of(leaf, *kinds)


def numbers(depth: int) -> st.SearchStrategy[Term]:
    """Terms that are floats."""
    leaf = st.one_of(st.tuples(st.just("float"), st.sampled_from("xyz")), st.sampled_from(CONSTANTS))
    if not depth:
        return leaf
    t, n = numbers(depth - 1), integers(depth - 1, floats=True)
    return st.one_of(leaf, st.tuples(st.just("f/"), n, n), st.tuples(st.just("sqrt"), t),
                     st.tuples(st.sampled_from(("f+", "f-", "f*", "f/")), t, t))


def truths(depth: int, floats: bool) -> st.SearchStrategy[Term]:
    """Nests of and, or, not over comparisons."""
    d = max(depth - 1, 0)
    leaf = st.tuples(st.sampled_from(COMPARE), integers(d, floats), integers(d, floats))
    if floats:
        leaf = st.one_of(leaf, st.tuples(st.sampled_from(COMPARE), numbers(d), numbers(d)))
    if not depth:
        return leaf
    t = truths(depth - 1, floats)
    return st.one_of(leaf, st.tuples(st.sampled_from(("and", "or")), t, t), st.tuples(st.just("not"), t))


RANGES = st.sampled_from([(-math.inf, math.inf), (0, 3), (1, 4), (-3, -1), (-2, 2)])
ANY_SORT = st.one_of(integers(3, floats=True), truths(2, floats=True), numbers(2))


class Case:
    """A term over x, y, z in a range: our node of it, and its Python values where it has some."""

    def __init__(self, term: Term, ends: tuple[float, float], data: st.DataObject) -> None:
        self.symbols = {n: Symbol(n, *ends) for n in "xyz"}
        self.node = our_node(term, {n: s.as_int() for n, s in self.symbols.items()})
        small = st.integers(-3, 4) if math.isinf(ends[0]) else st.integers(int(ends[0]), int(ends[1]))
        value = st.one_of(small, small, st.sampled_from(HUGE)) if math.isinf(ends[0]) else small
        points = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys("xyz", value)), min_size=1, max_size=5))
        self.values: list[tuple[dict[str, int], Any]] = []
        for point in points:
            try:
                self.values.append((point, python_value(term, point, PYTHON)))
            except RAISED:
                continue

    def check(self, node: Any) -> None:
        for point, expected in self.values:
            got = evaluate(node, {self.symbols[n]: v for n, v in point.items()})
            assert same(got, expected), f"{node} at {point}: {got}, Python {expected}"


def same(a: Any, b: Any) -> bool:
    return bool(a == b or (a != a and b != b)) and isinstance(a, float) == isinstance(b, float)


def case(term: Term, ends: tuple[float, float], data: st.DataObject) -> Case | None:
    try:
        return Case(term, ends, data)
    except RAISED:
        return None  # so it is at every point


@settings(max_examples=250, deadline=None)
@given(ANY_SORT, RANGES, st.data())
def test_the_value_is_pythons(term: Term, ends: tuple[float, float], data: st.DataObject) -> None:
    found = case(term, ends, data)
    if found:
        found.check(found.node)
        found.check(substitute(found.node, {s: s.as_int() for s in found.symbols.values()}))


@settings(max_examples=250, deadline=None)
@given(ANY_SORT, RANGES, st.data())
def test_bounds_contain_the_value(term: Term, ends: tuple[float, float], data: st.DataObject) -> None:
    found = case(term, ends, data)
    if found and isinstance(found.node, Int):
        lo, hi = declared(found.node)
        assert all(lo <= value <= hi for _, value in found.values)
    elif found and isinstance(found.node, Bool):
        truth = truth_interval(found.node, declared_atom)
        assert truth is None or all(value is truth for _, value in found.values)


@settings(max_examples=150, deadline=None)
@given(ANY_SORT, RANGES, st.data())
def test_the_printed_text_has_the_value(term: Term, ends: tuple[float, float], data: st.DataObject) -> None:
    found = case(term, ends, data)
    if not found:
        return
    text = to_python(found.node)
    names = {"math": math, "inf": math.inf, "nan": math.nan}
    for point, expected in found.values:
        assert same(eval(text, names, dict(point)), expected), f"{text} at {point}"


@settings(max_examples=150, deadline=None)
@given(ANY_SORT, RANGES, st.data())
def test_torchs_sympy_and_back(term: Term, ends: tuple[float, float], data: st.DataObject) -> None:
    """The form is equivalent, floats included; sympy has no -0.0, which compares equal."""
    found = case(term, ends, data)
    if not found or not found.values:
        return
    names = TorchSymbols()
    try:
        expr = ToSympy(names, TORCH)(found.node)
        back = FromSympy(names.back, TORCH)(expr)
    except RAISED:
        return  # a part that is chosen nowhere has no value
    found.check(back)


@pytest.mark.parametrize("ends", [(-3, 3), (0, 3), (1, 3), (-3, 0)])
def test_every_pair_of_operators_on_a_small_domain(ends: tuple[int, int]) -> None:
    """outer(inner(x, y), leaf) and mirrored; x ** y and if-then-else included; also the bounds."""
    symbols = {n: Symbol(n, *ends) for n in "xy"}
    nodes = {n: s.as_int() for n, s in symbols.items()}
    leaves = ("x", "y", -2, 2)
    inner: list[Term] = [*itertools.product(("-", "*", "//", "%", "max", "min", "ceildiv", "pow"), leaves, leaves)]
    inner += [("abs", "x"), ("ite", ("<", "x", "y"), "x", 2), ("ite", ("==", "x", 0), "y", "x"), ("round", "x", -1)]
    outer = ("//", "%", "max", "ceildiv", "pow", "abs", "ite")
    points = [dict(zip("xy", v)) for v in itertools.product(range(ends[0], ends[1] + 1), repeat=2)]
    for op, term, leaf in itertools.product(outer, inner, ("x", 3, -2)):
        for whole in [("abs", term)] if op == "abs" else [("ite", ("<=", term, leaf), term, leaf)] if op == "ite" \
                else [(op, term, leaf), (op, leaf, term)]:
            try:
                node = our_node(whole, nodes)
            except RAISED:
                continue
            lo, hi = declared(node)
            for point in points:
                try:
                    expected = python_value(whole, point, PYTHON)
                except RAISED:
                    continue
                assert evaluate(node, {symbols[n]: v for n, v in point.items()}) == expected, (whole, point)
                assert lo <= expected <= hi, (whole, point, lo, hi)


@pytest.mark.parametrize(("build", "expected"), [
    (lambda x, y: x / y, 7 / 3), (lambda x, y: -2 * x / (y + 1), -14 / 4),
    (lambda x, y: sympy.Rational(1, 3) * x, 7 / 3),
    (lambda x, y: sympy.sqrt(x + y), math.sqrt(10)), (lambda x, y: x**-2, 1 / 49), (lambda x, y: sympy.oo, math.inf),
    (lambda x, y: -sympy.oo, -math.inf), (lambda x, y: sympy.floor(x / y), 2),
    (lambda x, y: sympy.Le(x / 2, 3 * y), True),
    (lambda x, y: sympy.Rational(7, 2), 3.5),
])
def test_what_sympy_writes_as_a_power_or_a_fraction(build: Callable[[Any, Any], Any], expected: float) -> None:
    names = PlainSymbols()
    x, y = Symbol("x"), Symbol("y")
    back = FromSympy({names(x): x.as_int(), names(y): y.as_int()})(build(names(x), names(y)))
    assert evaluate(back, {x: 7, y: 3}) == expected


def test_a_power_is_not_multiplied_out_for_ever() -> None:
    x, y = Symbol("x", 0), Symbol("y", 0)
    for base, exponent in ((x.as_int(), 10**7), (x.as_int() + y.as_int() + 1, 40), (x.as_int() - y.as_int(), 300)):
        node = power(base, as_int(exponent))
        values = {x: 1, y: 1} if exponent > 1000 else {x: 3, y: 1}
        assert evaluate(node, values) == evaluate(base, values)**exponent
        lo, hi = declared(node)
        assert lo <= evaluate(node, values) <= hi


def test_bounds_that_square_each_other_come_to_an_end() -> None:
    env = ShapeEnv()
    x, y, z = (env.unbacked(lo=2) for _ in range(3))
    for relation in (x >= y * y + 1, y >= z * z + 1, or_(z >= x * x + 1, x * y <= z * z), x <= z * z * z):
        try:
            env.assume(relation)
        except ContradictoryFacts:
            break
    assert env.decide(or_(x >= y, x * x <= z)).verdict is not False
