"""Sizes as text: steps counted on deep chains, and each operator with negative constants against Python."""

from __future__ import annotations

import io
import itertools
import math
import sys
from collections.abc import Callable
from functools import reduce
from typing import Any
from zipfile import ZipFile

import pytest
import torch
from torch.export import Dim

import dynamo_lite
from dynamo_lite.symbolic_shapes import Origin, ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import Int
from dynamo_lite.symbolic_shapes.expressions.floats import Float, apply_float, as_float, float_const, float_symbol
from dynamo_lite.symbolic_shapes.expressions.piecewise import function, ite, maximum, minimum, power
from dynamo_lite.symbolic_shapes.expressions.printer import to_python
from dynamo_lite.symbolic_shapes.expressions.quotients import written_size
from dynamo_lite.symbolic_shapes.expressions.relations import and_, eq, le_zero, not_, or_
from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.converters import FromSympy, ToSympy
from dynamo_lite.symbolic_shapes.size_guards.codegen import namespace
from dynamo_lite.symbolic_shapes.torch_node.sympy_functions import TORCH, TorchSymbols

LINE = Origin("user line", "model.py", 1, "...")

CHAINS: dict[str, Callable[[Any, int, Any], Any]] = {
    "the issue's": lambda e, i, n: (e * 3 + n) // 2 - i,
    "thirds": lambda e, i, n: (e * 5 + n * 2 + 1) // 3,
    "rounded up and scaled": lambda e, i, n: (e + 7) // 8 * 8 * 3 // 5,
    "negative": lambda e, i, n: (n - e * 3) // 2,
    "negative divisor": lambda e, i, n: (e * 3 + n) // -2,
    "padding": lambda e, i, n: e + (-e) % (i + 2),
    "stride and padding of a convolution": lambda e, i, n: (e + 2 - 3) // 2 + 1,
}


def _steps(work: Callable[..., object], *args: Any) -> int:
    """How many Python functions `work` calls."""
    count = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        work(*args)
    finally:
        sys.setprofile(None)
    return count


def _all_procedures(step: Callable[[Any, int, Any], Any], depth: int, through_sympy: bool = True) -> None:
    env = ShapeEnv()
    n = env.backed(12, lo=0, source="n")
    e = reduce(lambda e, i: step(e, i, n), range(depth), n) % 1000
    env.bounds(e)
    env.decide(e >= 3)
    env.evaluate(e >= env.hint(e), LINE)
    text = to_python(e)
    assert len(text) < 40 * (depth + 2)
    assert written_size(e) < 20 * (depth + 2)
    if through_sympy:
        symbols = TorchSymbols()
        assert FromSympy(symbols.back, TORCH)(ToSympy(symbols, TORCH)(e)) is e


@pytest.fixture
def deep_stack() -> Any:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize("name", CHAINS)
def test_steps_are_polynomial_in_the_depth(name: str, deep_stack: Any) -> None:
    _all_procedures(CHAINS[name], 3)  # what is imported and made once
    few, many = (_steps(_all_procedures, CHAINS[name], depth) for depth in (10, 40))
    assert many < few * 4**3.5, (few, many)


def test_steps_at_depth_two_hundred(deep_stack: Any) -> None:
    assert _steps(_all_procedures, CHAINS["the issue's"], 200, False) < 2_500_000


def test_a_chain_is_exported_saved_and_run() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        return x * (reduce(lambda e, i: (e * 3 + n) // 2 - i, range(24), n) % 1000)

    program = dynamo_lite.export(f, (torch.ones(8, 2),), dynamic_shapes=({0: Dim.DYNAMIC},))
    assert len(program.graph.nodes) < 200
    for size in (2, 7, 30):
        x = torch.randn(size, 2)
        assert torch.equal(program.module()(x), f(x))


def test_an_expression_that_doubles_is_refused() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * (reduce(lambda e, i: e // 2 + (e + 1) // 3, range(24), x.shape[0]) % 1000)

    with pytest.raises(dynamo_lite.errors.GraphBreak, match="operands") as refusal:
        dynamo_lite.export(f, (torch.ones(8, 2),), dynamic_shapes=({0: Dim.DYNAMIC},))
    assert refusal.value.id == "unbound-size"


# -- operators against Python -------------------------------------------------------------------------------------
INTS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
    "%": lambda a, b: a % b, "max": maximum, "min": minimum, "&": lambda a, b: function("bitand", a, b),
    "|": lambda a, b: function("bitor", a, b), "^": lambda a, b: function("bitxor", a, b),
    "square": lambda a, b: power(a, 2) - b, "cube": lambda a, b: power(b, 3) - a,
    "power": lambda a, b: power(a, b % 4), "negated": lambda a, b: -a,
    "less": lambda a, b: ite(le_zero(a - b), a, -b), "equal": lambda a, b: ite(eq(a, b), b, -a),
    "both": lambda a, b: ite(and_(le_zero(a), le_zero(b)), -a, a + b),
    "neither": lambda a, b: ite(not_(or_(le_zero(a), le_zero(-b))), a, b - 1),
}  # fmt: skip
FLOATS = ("add", "sub", "mul", "div", "pow", "neg", "abs", "sqrt", "trunc_float", "float_floordiv", "float_mod")


def _value(work: Callable[..., Any], *args: Any) -> str:
    """repr tells -0.0 from 0.0 and 1 from 1.0; of an error its class."""
    try:
        return repr(work(*args))
    except (ArithmeticError, ValueError) as error:
        return type(error).__name__


def _check(node: Any, symbols: dict[Any, Any]) -> None:
    code = compile(to_python(node), "<written>", "eval")
    for values in itertools.product((-3, 0, 2), repeat=len(symbols)):
        named = dict(zip((s.name for s in symbols), values))
        want = _value(evaluate, node, dict(zip(symbols, values)))
        got = _value(eval, code, namespace() | named)
        assert got == want or {got, want} <= {"ZeroDivisionError", "ValueError"}, (node, named, got, want)


def _pairs(depth: int, leaves: list[Int]) -> list[Int]:
    """All pairs of operators, the second one on both sides of the first."""
    if not depth:
        return leaves
    inner = _pairs(depth - 1, leaves)
    sample = inner if len(inner) < 20 else inner[:: len(inner) // 14]
    made = [op(a, b) for op in INTS.values() for a in sample for b in leaves if _defined(op, a, b)]
    return made + [op(b, a) for op in INTS.values() for a in sample for b in leaves if _defined(op, b, a)]


def _defined(op: Callable[[Any, Any], Any], a: Int, b: Int) -> bool:
    try:
        op(a, b)
    except (ArithmeticError, ValueError):
        return False
    return True


def _leaves() -> tuple[list[Int], dict[Any, Any]]:
    env = ShapeEnv()
    n, m = env.unbacked(), env.unbacked()
    leaves = [n, m, -n, n * 0 - 2, n * 0 + 3, n - m]
    return leaves, {n.as_atom(): None, m.as_atom(): None}


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_integers_are_written_as_python_reads_them(depth: int) -> None:
    leaves, symbols = _leaves()
    for node in dict.fromkeys(_pairs(depth, leaves)):
        _check(node, symbols)


def test_floats_are_written_as_python_reads_them() -> None:
    env = ShapeEnv()
    n, x = env.unbacked(), float_symbol("x")
    constants = [float_const(c) for c in (-2.0, -0.0, 0.5, 1e22, -1e-7, math.inf, -math.inf, math.nan)]
    leaves: list[Float] = [x, as_float(n), as_float(n - 3), *constants]
    made = list(leaves)
    for _ in range(2):
        made += [node for op in FLOATS for a in made[:14] for b in leaves if (node := _float(op, a, b)) is not None]
    for node in dict.fromkeys(made[:: len(made) // 700]):
        code = compile(to_python(node), "<written>", "eval")
        for k, value in itertools.product((-3, 0, 5), (-1.5, 0.0, 2.0)):
            want = _value(evaluate, node, {n.as_atom(): k, x: value})
            got = _value(eval, code, namespace() | {str(n): k, "x": value})
            assert want == got, (node, k, value)


def _float(op: str, a: Float, b: Float) -> Float | None:
    args = (a,) if op in ("neg", "abs", "sqrt", "trunc_float") else (a, b)
    try:
        node = apply_float(op, *args)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return node


# -- graphs, saved and loaded -------------------------------------------------------------------------------------
def _numbers(x: torch.Tensor) -> tuple[Any, ...]:
    n = x.shape[0]
    return (
        *((-1) ** n, (-3) ** n, (-2.0) ** n, (-0.0) ** n, -1 // n, -7 % n, (-7) // (n + 1), n - -3, -(n**2), (-n) ** 3),
        *((n - 20) ** 3, n * 1e22, -(2.5**n), (n - 5) * -0.0, n & -2, -3 | n, ~n, -n // 2, -(n // 2), (-n) % 3),
        *(-(n % 3), (n - 9) // -2, n // -3, n % -3, n**0.5, (n + 1) ** -1.0, -1.0 / (n + 1), min(n, -n), max(-1, n)),
        *(
            min(-n, 3),
            abs(n - 7),
            n << 2,
            n >> 1,
            n ^ 3,
            5 - (-1) ** n,
            ((-1) ** n) ** 3,
            (-1) ** (n // 2),
            2 ** (n % 3),
        ),
        *((-2) ** (n - 1), 3 * (-2) ** n + 1, -((-2) ** n), n**2 // -3, (n % -4) ** 2, divmod(-n, 3)[1], round(-n / 2)),
    )


def test_graphs_compute_what_python_does() -> None:
    program = dynamo_lite.export(_numbers, (torch.ones(5, 2),), dynamic_shapes=({0: Dim.AUTO},))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file)
    for module in (program.module(), loaded.module(), program.run_decompositions().module()):
        for size in (2, 3, 4, 7, 12, 30):
            x = torch.ones(size, 2)
            assert [*map(repr, module(x))] == [*map(repr, _numbers(x))], size


def test_sign_of_a_negative_base_in_guards_and_assertions() -> None:
    def f(x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        m = k.item()
        torch._check(m >= 0)
        torch._check((-1) ** m == 1)
        return x + 1 if (-2) ** x.shape[0] < 0 else x - 1

    program = dynamo_lite.export(f, (torch.ones(5), torch.tensor(2)), dynamic_shapes=({0: Dim.AUTO}, None))
    module = program.module()
    for size in (3, 4, 9):
        assert torch.equal(module(torch.ones(size), torch.tensor(4)), f(torch.ones(size), torch.tensor(4)))
    with pytest.raises((RuntimeError, AssertionError)):
        module(torch.ones(5), torch.tensor(3))


# -- deep expressions in files --------------------------------------------------------------------------------------
def _nested(depth: int) -> Any:
    def f(x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        return x.new_zeros(reduce(lambda e, i: (e * 3 + n) // 2 - i, range(depth), n) % 1000)

    return dynamo_lite.export(f, (torch.ones(8),), dynamic_shapes=({0: Dim.AUTO},)), f


def _saved(program: Any, save: Callable[..., None]) -> io.BytesIO:
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return file


def test_files_are_those_that_torch_writes() -> None:
    for program in (_nested(5)[0], dynamo_lite.export(_numbers, (torch.ones(5, 2),), dynamic_shapes=({0: Dim.AUTO},))):
        ours, torchs = (ZipFile(_saved(program, save)) for save in (dynamo_lite.save, torch.export.save))
        # What a conversion of the loaded module has to know, and the proofs of its sizes.
        own = [f"archive/extra/dynamo_lite_{name}.json" for name in ("program", "certificates")]
        assert [name for name in ours.namelist() if name not in own] == torchs.namelist()
        same = [name for name in torchs.namelist() if not name.endswith("serialization_id")]  # a hash of all entries
        assert [name for name in same if ours.read(name) != torchs.read(name)] == []
        one, other = (load(_saved(program, dynamo_lite.save)) for load in (dynamo_lite.load, torch.export.load))
        assert str(one.graph_module.code) == str(other.graph_module.code)
        assert str(one.range_constraints) == str(other.range_constraints)


def test_saving_and_loading_are_polynomial_in_the_depth() -> None:
    def work(depth: int) -> None:
        program, f = _nested(depth)
        loaded = dynamo_lite.load(_saved(program, dynamo_lite.save))
        x = torch.ones(11)
        assert loaded.module()(x).shape == f(x).shape

    work(2)
    few, many = _steps(work, 8), _steps(work, 32)
    assert many < few * 4**2.5, (few, many)


def _issues_chain(depth: int) -> None:
    """Exported, saved, loaded and run."""

    def f(x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        return x * (reduce(lambda e, i: (e * 3 + n) // 2 - i, range(depth), n) % 1000)

    program = dynamo_lite.export(f, (torch.ones(8),), dynamic_shapes=({0: Dim.DYNAMIC},))
    loaded = dynamo_lite.load(_saved(program, dynamo_lite.save)).module()
    for size in (2, 9, 30):
        assert torch.equal(loaded(torch.ones(size)), f(torch.ones(size)))


@pytest.mark.parametrize("depths", [(15, 60), pytest.param((50, 200), marks=pytest.mark.long)], ids=str)
def test_steps_of_a_deep_chain_from_export_to_load(depths: tuple[int, int]) -> None:
    """Each node's size is written out in full, so that the text of all of them grows with the square of the depth;
    sympy walks each once for each of its levels on reading."""
    _issues_chain(2)  # what is imported and made once
    few, many = (_steps(_issues_chain, depth) for depth in depths)
    assert many < few * 4**3, (few, many)


SQUARES: dict[str, Callable[[Any, int, Any], Any]] = {
    "squares": lambda e, i, n: (e * e + n) // 5 % 97,
    "products": lambda e, i, n: (e + i) * (e // 3 + n) + e,
    "powers": lambda e, i, n: (e + n // (i + 2)) ** 3,
}


@pytest.mark.parametrize("name", SQUARES)
@pytest.mark.parametrize("depth", [9, 30])
def test_products_that_double_their_terms_are_refused(name: str, depth: int) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        try:
            return x * (reduce(lambda e, i: SQUARES[name](e, i, n), range(depth), n) % 1000)
        except ArithmeticError:  # what eager never raises
            return x

    def work() -> None:
        with pytest.raises(dynamo_lite.errors.GraphBreak) as refusal:
            dynamo_lite.export(f, (torch.ones(8),), dynamic_shapes=({0: Dim.DYNAMIC},))
        assert refusal.value.id == "unbound-size"

    work()
    assert _steps(work) < 2_000_000
