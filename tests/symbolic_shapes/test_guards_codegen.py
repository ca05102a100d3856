"""Guards as Python: what the code says is what the guards say, on the inputs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given

from dynamo_lite.symbolic_shapes import Origin, ShapeEnv, eq, ge, ne
from dynamo_lite.symbolic_shapes.size_guards.codegen import guards_as_code, namespace
from dynamo_lite.symbolic_shapes.size_guards.simplify import simplify
from tests.symbolic_shapes.guard_cases import Case, at, cases
from tests.symbolic_shapes.test_simplify import QUIET


def admitted(code: list[str], inputs: object) -> bool:
    """What a program that evaluates the guards in order decides."""
    try:
        return all(eval(line, {**namespace(), "L": inputs}) for line in code)
    except ArithmeticError:
        return False


@given(cases())
@QUIET
def test_code_admits_what_the_facts_admit(case: Case) -> None:
    symbols = case.symbols()
    guards = simplify(case.facts(symbols), symbols.values())
    code = guards_as_code(guards, signed=set(symbols.values()))
    for point in case.points():
        assert admitted(code, point) == (guards.failing(at(symbols, point)) is None) == case.holds(point), code


@given(cases())
@QUIET
def test_code_checks_the_declared_ranges(case: Case) -> None:
    symbols = case.symbols()
    code = guards_as_code(simplify(case.facts(symbols), symbols.values()), signed=set(symbols.values()))
    for name, (lo, hi) in case.ranges.items():
        for outside in (lo - 1, hi + 1):
            assert not admitted(code, {**case.hints, name: outside})


def test_expressions_run_on_tensor_like_inputs() -> None:
    env = ShapeEnv()
    n = env.backed(8, lo=0, source="L['x'].size()[0]")
    m = env.backed(10, lo=0, hi=64, source="L['y'].size()[1]")
    for question in (eq(m, n + 2), eq(n % 4, 0), n < 50):
        env.evaluate(question, Origin("user line"))
    code = guards_as_code(simplify(env.facts))
    assert code[0] == "L['y'].size()[1] == L['x'].size()[0] + 2"

    def inputs(x: int, y: int) -> dict[str, object]:
        return {"x": SimpleNamespace(size=lambda: (x,)), "y": SimpleNamespace(size=lambda: (3, y))}

    assert admitted(code, inputs(8, 10)) and admitted(code, inputs(48, 50))
    for wrong in (inputs(9, 11), inputs(8, 12), inputs(52, 54)):
        assert not admitted(code, wrong)


def test_what_may_divide_by_zero_comes_after_its_guard() -> None:
    env = ShapeEnv()
    n, d = env.backed(12, lo=0, source="L['n']"), env.backed(4, lo=0, source="L['d']")
    for question in (eq(n % d, 0), ne(d, 0)):
        env.evaluate(question, Origin("user line"))
    code = guards_as_code(simplify(env.facts))
    assert not all(eval(line, {"L": {"n": 12, "d": 0}}) for line in code)  # false, not ZeroDivisionError


def test_a_symbol_without_source_is_refused() -> None:
    env = ShapeEnv()
    n = env.backed(12, lo=0)
    env.evaluate(ge(n, 3), Origin("user line"))
    with pytest.raises(ValueError, match="no source is known for s0"):
        guards_as_code(simplify(env.facts))
