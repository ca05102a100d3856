"""SymNode: Python's values, one object per expression, and the whole of torch's interface."""

import math
import operator
from types import SimpleNamespace

import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.sym_node import SymNode as TorchSymNode

from dynamo_lite.symbolic_shapes import Int, Origin, ShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import fake_mode
from dynamo_lite.symbolic_shapes.torch_env.env import DataDependentError, TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.inputs import Fresh, create_symbolic_tensor
from dynamo_lite.symbolic_shapes.torch_node.sym_node import SymNode

INHERITED_ON_PURPOSE = {"nested_int_coeff"}


def backed(env: TorchShapeEnv, *hints: int, lo: float = -math.inf) -> list[torch.SymInt]:
    return [env.wrap(env.core.backed(h, lo=lo)) for h in hints]


def test_every_public_method_of_torchs_node_is_ours() -> None:
    theirs = {name for name in vars(TorchSymNode) if not name.startswith("_")}
    inherited = {name for name in theirs if name not in vars(SymNode)}
    assert inherited <= INHERITED_ON_PURPOSE | {"shape_env"}


def test_equal_expressions_are_one_node() -> None:
    env = TorchShapeEnv()
    a, b = backed(env, 6, 4)
    assert (a + b).node is (b + a).node
    assert ((a + b) * 2).node is (2 * b + a + a).node
    assert (a * 1).node is a.node
    assert (a < b).node is (b > a).node


def test_a_constant_result_is_a_python_number() -> None:
    env = TorchShapeEnv()
    (a,) = backed(env, 6)
    assert type(a - a) is int and a - a == 0
    assert (a == a) is True
    assert type(torch.sym_max(3, 4)) is int


BINARY = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv, operator.lt,
          operator.le, operator.gt, operator.ge, operator.eq, operator.ne, torch.sym_max, torch.sym_min]
UNARY = [operator.neg, operator.pos, abs, math.floor, math.ceil, math.trunc, torch.sym_float, round]


@st.composite
def programs(draw: st.DrawFn) -> list[tuple]:
    """Steps over a growing list of values: (operator, index, index)."""
    steps = []
    for count in range(3, 3 + draw(st.integers(1, 6))):
        index = st.integers(0, count - 1)
        if draw(st.booleans()):
            steps.append((draw(st.sampled_from(BINARY)), draw(index), draw(index)))
        else:
            steps.append((draw(st.sampled_from(UNARY)), draw(index)))
    return steps


def run(steps: list[tuple], values: list) -> list:
    for op, *indices in steps:
        args = [values[i] for i in indices]
        if any(isinstance(a, (bool, torch.SymBool)) for a in args):
            values.append(args[0])  # arithmetic on bools specialises them: not what is tested here
        else:
            values.append(op(*args))
    return values


@settings(max_examples=300, deadline=None)
@given(programs(), st.tuples(*[st.integers(-9, 9)] * 3))
def test_values_are_pythons(steps: list[tuple], inputs: tuple[int, ...]) -> None:
    env = TorchShapeEnv()
    try:
        expected = run(steps, list(inputs))
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            run(steps, list(backed(env, *inputs)))
        return
    for ours, python in zip(run(steps, list(backed(env, *inputs))), expected):
        value = ours.node.hint if isinstance(ours, (torch.SymInt, torch.SymFloat, torch.SymBool)) else ours
        assert value == python and type(value) is type(python)


@settings(max_examples=200, deadline=None)
@given(programs(), st.tuples(*[st.integers(-9, 9)] * 3))
def test_sympy_form_means_the_same(steps: list[tuple], inputs: tuple[int, ...]) -> None:
    env = TorchShapeEnv()
    try:
        results = run(steps, list(backed(env, *inputs)))
    except ZeroDivisionError:
        return
    for value in results:
        if isinstance(value, torch.SymInt) and isinstance(value.node.core, Int):
            # not the same node: torch's FloorDiv(a, a) is 1 (that a is not 0 is a fact by then)
            assert env.hint_of(env.from_sympy(value.node._expr)) == value.node.hint
            exact = not value.node._expr.atoms(sympy.Float) and not any(
                type(a).__name__ in {"IntTrueDiv", "ToFloat"} for a in sympy.preorder_traversal(value.node._expr))
            if exact:
                number = value.node._expr.subs(dict(env.backed_var_to_val))
                assert int(number) == value.node.hint


@pytest.mark.parametrize("make", [
    lambda n: math.floor(n / 2), lambda n: math.ceil(n / 2), lambda n: round(n / 3), lambda n: math.trunc((n - 10) / 2),
    lambda n: torch.sym_int(torch._sym_sqrt(n)), lambda n: round(n / 3, 1), lambda n: n ** 2, lambda n: n ** 0.5,
    lambda n: 2.0 * n + 1, lambda n: torch.sym_max(n / 2, 1.5), lambda n: torch.sym_ite(n > 4, n, n * 2),
    lambda n: torch.sym_not(n > 4), lambda n: torch.sym_sum([n, n, 3]), lambda n: (n / 2).is_integer(),
    lambda n: n << 2, lambda n: n >> 1, lambda n: n & 5, lambda n: n | 8, lambda n: n ^ 3, lambda n: (n / 2) // 1.5,
    lambda n: (n / 2) % 1.5, lambda n: torch.sym_ite(n > 4, n / 2, n / 3), lambda n: torch.sym_ite(n > 4, n > 5, n < 3),
])
@pytest.mark.parametrize("value", [7, 16])
def test_operators_outside_the_ring(make, value: int) -> None:
    env = TorchShapeEnv()
    (n,) = backed(env, value)
    symbolic = make(n)
    expected = make(value)
    assert symbolic.node.hint == expected
    assert str(symbolic)


def test_negative_shift_is_an_error_of_pythons() -> None:
    env = TorchShapeEnv()
    n, k = backed(env, 5, -1)
    with pytest.raises(ValueError, match="negative shift count"):
        n << k


def test_a_division_records_that_the_divisor_is_not_zero() -> None:
    env = TorchShapeEnv(where=lambda: Origin("user line", "model.py", 3))
    a, b = backed(env, 7, 2)
    a // b
    assert [str(f.relation) for f in env.core.facts] == ["s1 != 0"]
    assert env.core.facts[0].origin.line == 3


def test_division_by_a_zero_size() -> None:
    env = TorchShapeEnv()
    a, b = backed(env, 7, 0)
    for divide in (operator.floordiv, operator.mod, operator.truediv):
        with pytest.raises(ZeroDivisionError):
            divide(a, b)


def test_the_divisor_is_checked_again_after_a_rollback() -> None:
    env = TorchShapeEnv()
    a, b = backed(env, 7, 2)
    token = env.core.snapshot()
    a // b
    env.core.rollback(token)
    a // b
    assert [str(f.relation) for f in env.core.facts] == ["s1 != 0"]


def test_int_specialises_with_the_line() -> None:
    env = TorchShapeEnv()
    (n,) = backed(env, 5)
    assert int(n) == 5
    (fact,) = env.core.facts
    assert str(fact.relation) == "s0 == 5" and fact.kind == "guard"
    assert fact.origin.file == __file__


def test_an_equation_changes_expr_and_not_the_node() -> None:
    env = TorchShapeEnv()
    a, b = backed(env, 5, 5)
    node, before = (a + b).node, env._replacements_version_counter
    assert a == b
    assert (a + b).node is node
    assert len(node.expr.free_symbols) == 1 and len(node._expr.free_symbols) == 2
    assert env._replacements_version_counter != before


def test_make_fx_traces_arithmetic_on_sizes() -> None:
    env = TorchShapeEnv()
    mode = fake_mode(env)
    x = create_symbolic_tensor(mode, torch.ones(6, 4), [Fresh(), Fresh()])

    def f(x: torch.Tensor) -> torch.Tensor:
        n = torch.sym_max(x.shape[0] * 2 - x.shape[1], 3)
        return x.new_zeros(n + x.shape[0] // 2)

    targets = [node.target for node in make_fx(f)(x).graph.nodes if node.op == "call_function"]
    assert {operator.mul, operator.sub, torch.sym_max, operator.floordiv, operator.add} <= set(targets)


def test_arithmetic_is_not_traced_by_a_mode_without_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    # dynamo_lite's capture has the type of make_fx's mode, as torch demands at the PreDispatch key, and no tracer.
    from dynamo_lite.symbolic_shapes.torch_node import _torch

    state = SimpleNamespace(get=lambda index: SimpleNamespace())
    monkeypatch.setattr(_torch, "mode_stack_state_for_pre_dispatch", lambda: state)
    env = TorchShapeEnv()
    a, b = backed(env, 2, 3)
    assert (a * b).node.hint == 6


def test_nodes_of_another_environment_do_not_move() -> None:
    env = TorchShapeEnv(ShapeEnv())
    (n,) = backed(env, 5)
    with pytest.raises(ValueError, match="another"):
        n.node.with_shape_env(TorchShapeEnv())


def test_an_unbacked_value_has_no_hint_until_an_equation_gives_one() -> None:
    env = TorchShapeEnv()
    u = env.create_unbacked_symint()
    (s,) = backed(env, 5)
    assert u.node.hint is None and not u.node.has_hint()
    with pytest.raises(DataDependentError):
        int(u)
    token = env.core.snapshot()
    torch._check(u == s + 1)
    assert (u * 2).node.hint == 12
    env.core.rollback(token)
    assert (u * 2).node.hint is None


@pytest.mark.parametrize("divide", [lambda x, d: x / d, lambda x, d: x // d, lambda x, d: x % d])
@pytest.mark.parametrize("zero", [0, 0.0])
def test_a_float_divided_by_the_constant_zero_is_pythons_error(divide, zero: float) -> None:
    (n,) = backed(TorchShapeEnv(), 7)
    with pytest.raises(ZeroDivisionError):
        divide(torch.sym_float(n), zero)
