"""torch's sympy heads: both ways, and the values they give."""

import math

import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._sympy.functions import FloorDiv, Mod, PythonMod
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.printers import PythonPrinter
from torch.utils._sympy.reference import PythonReferenceAnalysis

from dynamo_lite.symbolic_shapes import (
    Symbol,
    as_int,
    ceildiv,
    eq,
    evaluate,
    float_symbol,
    int_truediv,
    ite,
    maximum,
    minimum,
    power,
    to_float,
)
from dynamo_lite.symbolic_shapes.expressions.expr import Int
from dynamo_lite.symbolic_shapes.expressions.floats import apply_float
from dynamo_lite.symbolic_shapes.expressions.piecewise import function, round_float
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.converters import FromSympy, ToSympy
from dynamo_lite.symbolic_shapes.torch_node.sympy_functions import TORCH, TorchSymbols


def bridge() -> tuple[TorchSymbols, ToSympy, FromSympy]:
    symbols = TorchSymbols()
    return symbols, ToSympy(symbols, TORCH), FromSympy(symbols.back, TORCH)


NAMES = ("s0", "s1", "s2")


@st.composite
def expressions(draw: st.DrawFn, symbols: list[Int], depth: int = 3) -> Int:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(symbols)) * draw(st.integers(-3, 3)) + draw(st.integers(-4, 4))
    a, b = draw(expressions(symbols, depth - 1)), draw(expressions(symbols, depth - 1))
    kind = draw(st.sampled_from(["+", "*", "//", "%", "max", "min", "ceildiv", "ite", "abs", "and"]))
    nonzero = b if not b.terms and b.const else b * b + 1
    return {
        "+": lambda: a + b, "*": lambda: a * b, "//": lambda: a // nonzero, "%": lambda: a % nonzero,
        "max": lambda: maximum(a, b), "min": lambda: minimum(a, b), "ceildiv": lambda: ceildiv(a, nonzero),
        "ite": lambda: ite(a <= b, a, b + 1), "abs": lambda: abs(a), "and": lambda: function("bitand", a, b),
    }[kind]()


@settings(max_examples=300, deadline=None)
@given(st.data(), st.tuples(*[st.integers(-6, 6)] * 3), st.booleans())
def test_the_sympy_form_has_pythons_value_and_comes_back(
        data: st.DataObject, values: tuple[int, ...], sizes: bool) -> None:
    if sizes:
        values = tuple(abs(v) + 1 for v in values)
    symbols = [Symbol(n, lo=1) if sizes else Symbol(n) for n in NAMES]
    node = data.draw(expressions([s.as_int() for s in symbols]))
    names, to_sympy, from_sympy = bridge()
    expr = to_sympy(node)
    expected = evaluate(node, dict(zip(symbols, values)))
    assert torchs_value(expr, {str(names(s)): v for s, v in zip(symbols, values)}) == expected
    assert evaluate(from_sympy(expr), dict(zip(symbols, values))) == expected


def torchs_value(expr: sympy.Expr, numbers: dict[str, int]) -> int:
    """The value that torch's guards compute: its own Python text of the expression, evaluated.

    torch's sympy_interp asks sympy whether each sum is an integer, which need not end: see the next test."""
    return eval(PythonPrinter().doprint(expr), {"math": math}, dict(numbers))


def test_remainders_on_which_sympy_does_not_end() -> None:
    """sympy.Mod(p, q).eval undoes and redoes one step for such a q, and torch's PythonMod and FloorDiv ask it."""
    s = Symbol("s1", lo=1)
    n = s.as_int()
    quotient = (n - 2) // (n * n + 1)
    inner = (n - quotient * n * n - quotient) ** 2 - 4 * ((n - 2) % (n * n + 1)) - 3
    divisor = ((-3 * n - 4) // inner) ** 2 + 1
    for node in (as_int(2) % divisor, as_int(2) // divisor):
        names, to_sympy, from_sympy = bridge()
        expr = to_sympy(node)
        assert from_sympy(expr) is node
        for value in (1, 3, 4):
            assert torchs_value(expr, {str(names(s)): value}) == evaluate(node, {s: value})


def test_heads_that_torch_matches_on() -> None:
    size, any_int = Symbol("s0", lo=1).as_int(), Symbol("s1").as_int()
    _, to_sympy, _ = bridge()
    assert isinstance(to_sympy(size // 3), FloorDiv)
    assert isinstance(to_sympy(size % 3), Mod)
    assert isinstance(to_sympy(any_int % 3), PythonMod)
    assert str(to_sympy(maximum(size, 3))) == "Max(3, s0)" and str(to_sympy(minimum(size, 3))) == "Min(3, s0)"


def test_nested_division_by_a_negative_number_keeps_pythons_value() -> None:
    """torch's FloorDiv(FloorDiv(a, b), c) becomes FloorDiv(a, b*c) for any c; for c < 0 that floors another number."""
    a, c = Symbol("s0"), Symbol("s1")
    node = (a.as_int() // 2) // c.as_int()
    names, to_sympy, _ = bridge()
    expr = to_sympy(node)
    assert (5 // 2) // -2 != 5 // -4
    assert int(sympy_interp(PythonReferenceAnalysis, {names(a): 5, names(c): -2}, expr)) == (5 // 2) // -2


def test_floats_there_and_back() -> None:
    s = Symbol("s0", lo=1)
    n = s.as_int()
    z = float_symbol("zuf0")
    _, to_sympy, from_sympy = bridge()
    for node in (int_truediv(n, 3), to_float(n) * 0.5, round_float("floor", int_truediv(n, 2)), to_float(n) ** 0.5,
                 apply_float("sqrt", to_float(n)), apply_float("round_digits", int_truediv(n, 3), as_int(2)),
                 round_float("round", int_truediv(n, 3)), apply_float("float_max", to_float(n), z), z + 1.5):
        back = from_sympy(to_sympy(node))
        assert evaluate(back, {s: 7, z: 9.25}) == evaluate(node, {s: 7, z: 9.25})


def test_propositions_there_and_back() -> None:
    s, t = Symbol("s0"), Symbol("s1")
    a, b = s.as_int(), t.as_int()
    _, to_sympy, from_sympy = bridge()
    for node in (a <= b, eq(a, b + 2), ~eq(a % 4, 0), (a < 3) | (b > a), (a < 3) & ~(b > a)):
        assert from_sympy(to_sympy(node)) is node


def test_powers() -> None:
    s, k = Symbol("s0", lo=1), Symbol("s1", lo=0)
    names, to_sympy, from_sympy = bridge()
    node = power(s.as_int(), k.as_int())
    assert from_sympy(to_sympy(node)) is node
    assert to_sympy(node).subs({names(s): 3, names(k): 4}) == 81


