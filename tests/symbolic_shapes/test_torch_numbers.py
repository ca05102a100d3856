"""SymInt, SymFloat and SymBool of our environment, by operators and functions of Python and torch: Python's values.

Python is the oracle. Where a program gets something else, torch's own class of the number did it (`SymInt.__round__`
ignores its argument, `SymBool` has no order): then torch's environment must give the same.
"""

import copy
import itertools
import math
import operator
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from dynamo_lite.symbolic_shapes.expressions.floats import float_symbol
from dynamo_lite.symbolic_shapes.expressions.relations import eq
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv

Number = int | float | bool
Make = Callable[[Number], Any]
INTS: tuple[Number, ...] = (0, 1, -1, 2, 3, -3, 7, -8, 2**31, 2**53 + 1, -(2**62))
FLOATS: tuple[Number, ...] = (0.0, 0.5, 1.5, 2.5, -2.5, -0.5, 3.0, 1e17, -7.25)
BOOLS: tuple[Number, ...] = (False, True)

UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "abs": abs, "round": round, "floor": math.floor, "ceil": math.ceil,
    "trunc": math.trunc, "sym_int": torch.sym_int, "sym_float": torch.sym_float, "sym_not": torch.sym_not,
    "int": int, "float": float, "bool": bool, "is_integer": lambda a: a.is_integer(), "index": operator.index,
    "isfinite": math.isfinite, "isnan": math.isnan, "math.sqrt": math.sqrt, "math.log2": math.log2,
    **{f"sym_{name}": getattr(torch, f"_sym_{name}") for name in (
        "sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2")},
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(operator, name) for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge", "and_", "or_",
        "xor", "lshift", "rshift")},
    "divmod": divmod, "sym_max": torch.sym_max, "sym_min": torch.sym_min, "max": max, "min": min, "round": round,
    "sym_sum": lambda a, b: torch.sym_sum([a, b, a]), "sym_ite": lambda a, b: torch.sym_ite(a < b, a, b),
    "math.pow": math.pow, "fmod": math.fmod, "gcd": math.gcd,
}  # fmt: skip
PYTHON: dict[str, Callable[..., Any]] = {
    "sym_not": operator.not_, "sym_int": int, "sym_float": float, "sym_sum": lambda a, b: a + b + a,
    "sym_max": max, "sym_min": min, "sym_ite": lambda a, b: a if a < b else b,
    **{f"sym_{name}": getattr(math, name) for name in (
        "sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2")},
}  # fmt: skip
LARGE = {"pow": 20, "lshift": 70, "rshift": 70, "math.pow": 20, "round": 20}
"""Second operands beyond are too much for Python itself."""


def ours() -> Make:
    env, names = TorchShapeEnv(), itertools.count()

    def make(value: Number) -> Any:
        if type(value) is bool:
            return env.wrap(eq(env.core.backed(int(value)), 1))
        if isinstance(value, float):
            return env.wrap(float_symbol(f"zf{next(names)}", value))
        return env.wrap(env.core.backed(value))

    return make


def theirs() -> Make:
    env, names = ShapeEnv(specialize_zero_one=False, duck_shape=False), itertools.count()

    def make(value: Number) -> Any:
        source = ConstantSource(f"a{next(names)}")
        number: Any = int(value) if type(value) is bool else value
        symbol = env.create_unspecified_symbol(number, source, DimDynamic.DYNAMIC)
        if isinstance(value, float):
            return env.create_symfloatnode(symbol, hint=value, source=source)
        made = env.create_symintnode(symbol, hint=number, source=source)
        return made == 1 if type(value) is bool else made

    return make


def outcome(function: Callable[..., Any], arguments: list[Any]) -> tuple[str, Any]:
    """(sort, value) of the result, or ("raises", the error's type)."""
    try:
        return plain(function(*arguments))
    except Exception as error:
        return "raises", type(error)


def plain(value: Any) -> tuple[str, Any]:
    if isinstance(value, tuple):
        return "tuple", tuple(map(plain, value))
    for kind, sort in ((torch.SymBool, bool), (torch.SymInt, int), (torch.SymFloat, float)):
        if isinstance(value, kind):
            return sort.__name__, sort(value)
    return type(value).__name__, value


def compare(name: str, function: Callable[..., Any], values: tuple[Number, ...], symbolic: tuple[bool, ...]) -> None:
    def given(make: Make) -> tuple[str, Any]:
        return outcome(function, [make(v) if s else v for v, s in zip(values, symbolic)])

    expected = outcome(PYTHON.get(name, function), list(values))
    result = given(ours())
    if result != expected and not _same_number(name, result, expected):
        torchs = given(theirs())
        refused = result[0] == torchs[0] == "raises"  # in other words
        assert refused or result == torchs, f"{name}{values}: {result} and not {expected}"


def _same_number(name: str, result: tuple[str, Any], expected: tuple[str, Any]) -> bool:
    """torch's functions take a float if one operand is (`sym_max(1, 2.5)`), and a bool for a number."""
    numbers = name.startswith("sym_") and "raises" not in (result[0], expected[0])
    return numbers and bool(result[1] == expected[1])


@pytest.mark.parametrize("name", UNARY)
def test_one_number(name: str) -> None:
    for value in (*INTS, *FLOATS, *BOOLS):
        compare(name, UNARY[name], (value,), (True,))


@pytest.mark.parametrize("name", BINARY)
def test_two_numbers(name: str) -> None:
    pairs = [(a, b) for a in (*INTS, *FLOATS, *BOOLS) for b in (*INTS, *FLOATS, *BOOLS)]
    if name in LARGE:
        pairs = [(a, b) for a, b in pairs if abs(b) <= LARGE[name] and abs(a) <= 2**31]
    for number, pair in enumerate(random.Random(name).sample(pairs, 27)):
        compare(name, BINARY[name], pair, ((True, False), (False, True), (True, True))[number % 3])


def test_a_fact_about_an_input_float_is_no_obstacle() -> None:
    """What is asked next of an integer that was compared with a float is answered by its example, as ever."""
    make = ours()
    n, scale = make(3), make(2.5)
    assert n > scale
    assert n >= 2 and n != 4
    assert int(n) == 3


def test_shifts_and_bits_are_for_integers() -> None:
    make = ours()
    for function in (operator.lshift, operator.rshift):
        with pytest.raises(TypeError, match="unsupported operand type"):
            function(make(2.5), 1)


def test_copies_texts_and_hashes() -> None:
    make = ours()
    n = make(6)
    assert copy.deepcopy(n).node is n.node and copy.copy(n).node is n.node
    assert f"{n}" == str(n) == "s0" and f"{n * 2 + 1}" == "2*s0 + 1"
    with pytest.raises(TypeError, match="unhashable"):
        hash(n)
    with pytest.raises(Exception, match=r"pickle|serializ"):  # a symbol means nothing in another process
        pickle.dumps(n)
    assert hash(make(2.5) > 1.0) is not None
