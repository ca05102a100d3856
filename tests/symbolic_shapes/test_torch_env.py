"""TorchShapeEnv under FakeTensorMode: what becomes a fact, what does not, and what is refused."""

import pytest
import sympy
import torch
from torch.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    compute_unbacked_bindings,
    free_unbacked_symbols,
    guard_or_false,
    guard_or_true,
    guard_size_oblivious,
    statically_known_true,
)
from torch.fx.experimental.symbolic_shapes import (
    ShapeEnv as TorchsOwn,
)

from dynamo_lite.symbolic_shapes import ContradictoryFacts, DataDependentQuestion, Origin, UnknownValue, ge
from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import fake_mode
from dynamo_lite.symbolic_shapes.torch_env.env import DataDependentError, TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.inputs import Fresh, create_symbolic_tensor


@pytest.fixture
def env() -> TorchShapeEnv:
    return TorchShapeEnv(where=lambda: Origin("user line", "model.py", 3))


@pytest.fixture
def mode(env: TorchShapeEnv) -> torch._subclasses.FakeTensorMode:
    return fake_mode(env)


def facts(env: TorchShapeEnv) -> list[str]:
    return [str(f.relation) for f in env.core.facts]


def symbolic(mode, *sizes: int, policy=None) -> torch.Tensor:
    return create_symbolic_tensor(mode, torch.zeros(sizes), policy or [Fresh() for _ in sizes])


# -- questions of the program ---------------------------------------------------------------------------
def test_a_branch_becomes_a_guard_with_the_line(env, mode) -> None:
    x = symbolic(mode, 6)
    assert x.shape[0] > 4
    (fact,) = env.core.facts
    assert (str(fact.relation), fact.kind, fact.origin.file, fact.origin.line) == ("s0 >= 5", "guard", "model.py", 3)
    assert x.shape[0] > 3, "follows from the first: no second guard"
    assert len(env.core.facts) == 1


def test_the_calling_line_is_found_without_a_tracer() -> None:
    env = TorchShapeEnv()
    x = symbolic(fake_mode(env), 6)
    bool(x.shape[0] > 4)
    assert env.core.facts[0].origin.file == __file__


def test_suppressed_answers_are_not_facts(env, mode) -> None:
    x = symbolic(mode, 6)
    with env.suppress_guards():
        assert x.shape[0] > 4
    assert not env.core.facts
    assert x.shape[0] > 4
    assert facts(env) == ["s0 >= 5"]


def test_a_rollback_forgets_the_answers(env, mode) -> None:
    x = symbolic(mode, 6)
    token = env.core.snapshot()
    assert x.shape[0] > 4
    env.core.rollback(token)
    assert not statically_known_true(x.shape[0] > 4)
    assert x.shape[0] > 4
    assert facts(env) == ["s0 >= 5"]


def test_no_new_facts_when_none_are_allowed(env, mode) -> None:
    x = symbolic(mode, 6)
    with env.error_on_new_guards(), pytest.raises(RuntimeError, match="s0 >= 5"):
        bool(x.shape[0] > 4)
    assert not env.core.facts


def test_statically_known_true_uses_no_hint(env, mode) -> None:
    x = symbolic(mode, 6)
    assert not statically_known_true(x.shape[0] > 4)
    assert statically_known_true(x.shape[0] >= 1)
    assert not env.core.facts


def test_layout_asked_by_the_program_is_exact(env, mode) -> None:
    x = symbolic(mode, 6, 4).t()
    assert not x.is_contiguous()
    assert set(facts(env)) == {"s0 != 1", "s1 != 1"}


def test_layout_of_an_input_is_asked_when_the_program_asks(env, mode) -> None:
    """Building the fake, under suppression, must not leave an answer behind in the tensor."""
    x = create_symbolic_tensor(mode, torch.zeros(4, 6).t(), [Fresh(), Fresh()])
    assert not env.core.facts
    assert not x.is_contiguous()
    assert set(facts(env)) == {"s0 != 1", "s1 != 1"}


# -- questions of kernels -------------------------------------------------------------------------------
def test_broadcasting_does_not_exclude_a_size_of_one(env, mode) -> None:
    x, y = symbolic(mode, 6, 4), symbolic(mode, 4, policy=[env.unwrap(4)])
    with mode:
        z = (x + 1) * 2 + x[:, :1] + y.sum()
    assert z.shape[0].node.core is x.shape[0].node.core
    assert "s0 != 1" not in facts(env)


def test_squeeze_excludes_it(env, mode) -> None:
    x = symbolic(mode, 6, 4)
    with mode:
        assert x.squeeze().dim() == 2
    assert {"s0 != 1", "s1 != 1"} <= set(facts(env))


def test_a_convolution_does_not_bound_the_batch(env, mode) -> None:
    """torch's ShapeEnv has the guard s0 < 16 here, from choosing a backend."""
    x = symbolic(mode, 6, 3, 8, 8, policy=[Fresh(), None, None, None])
    with mode:
        y = torch.nn.functional.conv2d(x, torch.zeros(4, 3, 3, 3))
    assert y.shape[0].node is x.shape[0].node and not env.core.facts


def test_guard_or_false_of_the_program_is_a_guard(env, mode) -> None:
    x = symbolic(mode, 6)
    assert guard_or_false(x.shape[0] == 6) is True
    assert facts(env) == ["s0 == 6"]


# -- values that only run time knows --------------------------------------------------------------------
def test_item_makes_an_unbacked_symbol_with_the_line(env, mode) -> None:
    with mode:
        u = torch.zeros((), dtype=torch.int64).item()
    symbol = u.node._expr
    assert free_unbacked_symbols(u) == {symbol} and env.is_unbacked_symint(symbol)
    assert env.pending_fresh_unbacked_symbols == [symbol]
    assert next(iter(env.core.symbols.values())).origin.line == 3


@pytest.mark.parametrize("make, kinds", [
    (lambda x: x.sum().to(torch.int64).item(), torch.SymInt),
    (lambda x: x.sum().item(), torch.SymFloat),
    (lambda x: (x.sum() > 0).item(), torch.SymBool),
    (lambda x: torch.nonzero(x), torch.Tensor),
    (lambda x: x[x > 0], torch.Tensor),
    (lambda x: torch.unique(x), torch.Tensor),
    (lambda x: torch.repeat_interleave(x.to(torch.int64)), torch.Tensor),
])
def test_torch_finds_the_new_symbols_in_the_result(env, mode, make, kinds: type) -> None:
    x = symbolic(mode, 6)
    with mode:
        result = make(x)
    assert isinstance(result, kinds)
    pending = set(env.pending_fresh_unbacked_symbols)
    assert pending and set(compute_unbacked_bindings(env, result)) == pending
    assert not env.pending_fresh_unbacked_symbols


def test_nonzero_is_bounded(env, mode) -> None:
    x = symbolic(mode, 6)
    with mode:
        rows = torch.nonzero(x).shape[0]
    assert statically_known_true(rows >= 0)
    assert guard_size_oblivious(rows == 0) is False
    assert {"u0 >= 0", "u0 <= s0"} <= {*facts(env)}


def test_ignored_fresh_symbols_are_not_pending(env) -> None:
    with env.ignore_fresh_unbacked_symbols():
        env.create_unbacked_symint()
    assert env.pending_fresh_unbacked_symbols == []


def test_a_data_dependent_branch(env) -> None:
    u = env.create_unbacked_symint()
    with pytest.raises(GuardOnDataDependentSymNode) as raised:
        bool(u > 3)
    error = raised.value
    assert isinstance(error, DataDependentError) and isinstance(error.question, DataDependentQuestion)
    assert error.cond == (u > 3).node.expr
    assert error.question.origin.line == 3
    assert "torch._check(u0 >= 4)" in str(error) and "torch._check(u0 <= 3)" in str(error)


def test_a_data_dependent_number(env) -> None:
    u = env.create_unbacked_symint()
    with pytest.raises(DataDependentError) as raised:
        range(u)
    assert isinstance(raised.value.question, UnknownValue)


def test_fallbacks(env) -> None:
    u = env.create_unbacked_symint()
    assert guard_or_false(u == 3) is False and guard_or_true(u == 3) is True
    assert not env.core.facts
    torch._check(u == 3)
    assert guard_or_false(u == 3) is True


def test_check_settles_the_branch_and_is_asserted_at_run_time(env) -> None:
    u, v = env.create_unbacked_symint(), env.create_unbacked_symint()
    torch._check(u >= 4)
    torch._check(v < u)
    assert bool(u > 3)
    assert [f.kind for f in env.core.facts] == ["check", "check"]
    assert env.core.facts[0].origin.kind == "torch._check" and env.core.facts[0].origin.line == 3
    asserts = env.deferred_runtime_asserts
    assert [str(a.expr) for a in asserts[u.node._expr]] == ["u0 >= 4"]
    assert len(asserts[v.node._expr]) == 1, "placed with the newest symbol in it"


def test_check_on_an_input_is_a_guard(env, mode) -> None:
    x = symbolic(mode, 6)
    torch._check(x.shape[0] <= 8)
    assert [(str(f.relation), f.kind) for f in env.core.facts] == [("s0 <= 8", "guard")]
    with pytest.raises(RuntimeError):
        torch._check(x.shape[0] <= 5)


def test_contradictory_checks_name_each_other(env) -> None:
    u = env.create_unbacked_symint()
    torch._check(u <= 10)
    with pytest.raises(RuntimeError):
        torch._check(u >= 50)
    assert isinstance(env.refuted, ContradictoryFacts)
    assert [str(f.relation) for f in env.refuted.facts] == ["u0 <= 10"]


def test_check_is_size_and_bounds(env, mode) -> None:
    with mode:
        u = torch.zeros((), dtype=torch.int64).item()
        torch._check_is_size(u)
        torch._check(u <= 7)
        assert torch.zeros(u, 2).reshape(-1).shape[0].node.core is (u * 2).node.core
    vr = env.var_to_range[u.node._expr]
    assert (vr.lower, vr.upper) == (0, 7)


def test_constrain_range_that_cannot_be(env) -> None:
    u = env.create_unbacked_symint()
    env._constrain_range(u.node.expr, 5, 9)
    with pytest.raises(ContradictoryFacts):
        env._constrain_range(u.node.expr, 10, 12)
    with pytest.raises(ValueError, match="empty"):
        env._constrain_range_for_size(u.node.expr, 4, 3)


def test_split_and_views_by_unbacked_sizes(env, mode) -> None:
    with mode:
        a, b = torch.zeros(2, dtype=torch.int64).tolist()
        torch._check_is_size(a)
        torch._check_is_size(b)
        first, second = torch.zeros(a + b, 2).split([a, b])
    assert first.shape[0].node.core is a.node.core and second.shape[0].node.core is b.node.core


def test_renamed_unbacked_symbols_are_equal(env) -> None:
    u, v = env.create_unbacked_symint(), env.create_unbacked_symint()
    env._rename_unbacked_to(v.node._expr, u.node._expr)
    assert statically_known_true(u == v)
    assert env.unbacked_renamings == {v.node._expr: u.node._expr}


def test_a_bool_has_the_form_that_torch_recognises(env) -> None:
    b = env.create_unbacked_symbool()
    expr = b.node._expr
    assert isinstance(expr, sympy.Eq) and isinstance(expr.lhs, sympy.Symbol) and expr.rhs == 1


# -- higher-order operators -----------------------------------------------------------------------------
def test_cond_and_vmap_and_grad(env, mode) -> None:
    x = symbolic(mode, 6, 4)
    with mode:
        y = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))
        z = torch.vmap(lambda row: row.sum())(x)
        w = x.clone().requires_grad_()
        (g,) = torch.autograd.grad((w.tanh() @ w.t()).sum(), w)
    for result in (y, g):
        assert [s.node.core for s in result.shape] == [s.node.core for s in x.shape]
    assert z.shape[0].node.core is x.shape[0].node.core


# -- what torch reads -----------------------------------------------------------------------------------
def test_tables_of_torch(env, mode) -> None:
    x = symbolic(mode, 6)
    s = x.shape[0].node._expr
    u = env.create_unbacked_symint().node._expr
    assert dict(env.backed_var_to_val) == {s: 6}
    assert set(env.var_to_range) == {s, u} and env.var_to_range[s].lower == 1
    assert s.is_positive and u.is_positive is None
    assert str(s).startswith("s") and str(u).startswith("u")
    assert bool(x.shape[0] != 3) and [str(g.expr) for g in env.guards] == ["Ne(s0, 3)"]
    assert env.bound_sympy(s + u).lower == -env.bound_sympy(-s - u).upper
    with pytest.raises(KeyError):
        env.var_to_range[sympy.Symbol("other")]


def test_names_do_not_change_a_symbols_nature(env) -> None:
    """torch reads the start of the name: a dimension called "unit" is no unbacked symbol."""
    unit = env.wrap(env.core.backed(4, name="unit", lo=1))
    assert free_unbacked_symbols(unit) == set()
    seq = env.wrap(env.core.unbacked(name="seq"))
    assert len(free_unbacked_symbols(seq)) == 1


def test_hashable_settings_as_in_torch(env) -> None:
    assert type(env.settings) is type(TorchsOwn().settings) and hash(env.settings)


def test_static_evaluation_and_replacement_in_sympy(env, mode) -> None:
    x = symbolic(mode, 6, 6)
    a, b = (s.node._expr for s in x.shape)
    assert env._maybe_evaluate_static(sympy.Ge(a, 1)) is sympy.true
    assert env._maybe_evaluate_static(sympy.Eq(a, b)) is None
    assert env._maybe_evaluate_static(a * b, compute_hint=True) == 36
    assert env.evaluate_expr(sympy.Eq(a, b)) == sympy.true
    assert len(env.replace(a + b).free_symbols) == 1
    assert env.guarding_hint_or_throw(a * b) == 36 and env.size_hint(a + b) == 12
    u = env.create_unbacked_symint().node._expr
    assert not env.has_guarding_hint(u) and env.size_hint(u, allow_none=True) is None
    with pytest.raises(GuardOnDataDependentSymNode):
        env.guarding_hint_or_throw(u)


def test_core_and_face_share_the_facts(env) -> None:
    u = env.create_unbacked_symint()
    env.core.assume(ge(u.node.core, 5), Origin("Dim spec"))
    assert bool(u > 3)


@pytest.mark.parametrize("dim", [-1, -2, 0, 1])
@pytest.mark.parametrize("symbolic", [True, False])
def test_runs_of_equal_slices_are_counted_along_a_negative_dimension(env, mode, dim: int, symbolic: bool) -> None:
    """torch's own rule gives (5, u0, 5, 6) for (5, 6) and dim=-1."""
    real = torch.randint(0, 2, (5, 6)).float()
    x = create_symbolic_tensor(mode, real, [Fresh() if symbolic else None] * 2)
    with mode:
        given = [torch.unique_consecutive(x, True, True, dim), torch.unique_consecutive(x, dim=dim)]
    expected = [torch.unique_consecutive(real, True, True, dim), torch.unique_consecutive(real, dim=dim)]
    for g, e in zip(given[0] + (given[1],), expected[0] + (expected[1],), strict=True):
        known = [(a.node.hint, b) for a, b in zip(g.shape, e.shape, strict=True) if isinstance(a, torch.SymInt)]
        assert all(a in (None, b) for a, b in known)
        assert all(a == b for a, b in zip(g.shape, e.shape) if isinstance(a, int))
    assert given[1].shape[dim].node.hint is None and given[1].shape[1 - dim % 2] == x.shape[1 - dim % 2]
