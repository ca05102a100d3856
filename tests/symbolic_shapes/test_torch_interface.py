"""What torch asks of a shape environment and its nodes, found in its own sources: ours has it, or why it has not."""

import functools
import itertools
import re
import warnings
from pathlib import Path

import pytest
import sympy
import torch
from torch.fx.experimental import symbolic_shapes as theirs
from torch.fx.experimental.sym_node import SymNode as TorchSymNode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from dynamo_lite.symbolic_shapes.expressions.relations import eq
from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import fake_mode
from dynamo_lite.symbolic_shapes.torch_env.env import DataDependentError, TorchShapeEnv
from dynamo_lite.symbolic_shapes.torch_env.inputs import Fresh, create_symbolic_tensor
from dynamo_lite.symbolic_shapes.torch_node.sym_node import SymNode
from dynamo_lite.symbolic_shapes.torch_versions import Variant, applies

TORCH = Path(torch.__file__).parent
OF_AN_ENVIRONMENT = re.compile(r"\bshape_env\)?\.([A-Za-z_]\w*)|(?:get|has)attr\([\w.]*shape_env, *\"(\w+)\"")
OF_A_NODE = re.compile(r"\.node\.([A-Za-z_]\w*)")
THE_ENVIRONMENT_ITSELF = ("fx/experimental/symbolic_shapes.py", "fx/experimental/recording.py")

OTHER_TRACERS = "torch._dynamo's own tracing of inputs, which makes its own environment"
INDUCTOR = "Inductor compiles the exported program, on the torch ShapeEnv that the program is rebuilt with"
SERIALIZER = "the (de)serialiser's: it fills in a ShapeEnv of its own"
VALIDATOR = "torch's translation validation of its own guards (off unless asked for); ours are certified"
HEURISTICS = "behind ShapeEnv.optimization_hint and guarding_hint_or_throw, which ours answers itself"
NON_STRICT = "torch.export(strict=False) solves its own dims"
ABSENT = {
    **dict.fromkeys((
        "_set_unbacked_var_to_hint_override", "_transfer_foreign_expr_as_unbacked",
        "_shape_spec_pending_assumptions", "_spec_symbol_to_compile_symbol", "dim_constraints",
        "patch_source_specialization", "produce_guards_verbose", "specializations", "source_name_to_debug_name"),
        OTHER_TRACERS),
    **dict.fromkeys((
        "_ignore_fresh_unbacked_symbols_set", "_ignore_fresh_unbacked_symbols_tls", "deserialize_symexpr",
        "evaluate_guards_expression", "evaluate_symexpr", "get_axioms", "get_pruned_guards",
        "produce_guards_expression"), INDUCTOR),
    **dict.fromkeys((
        "add_backed_var_to_val", "unbacked_symfloat_counter", "unbacked_symint_counter", "var_to_stack"), SERIALIZER),
    **dict.fromkeys(("_snapshot_tracked_fakes", "events"), VALIDATOR),
    **dict.fromkeys(("_equality_graph", "_make_data_dependent_error", "_unbacked_replacements"), HEURISTICS),
    "produce_guards": NON_STRICT,
    "_default_unspecified_value_range": "insert_deferred_runtime_asserts runs on the rebuilt program's ShapeEnv",
    "_symop_cache": "torch's own SymNode keeps results of operations there; ours keeps them in the node",
    "_simplify_floor_div": "the arithmetic of torch's own SymNode; ours divides by itself",
}  # fmt: skip
"""Method or attribute of torch's ShapeEnv that torch uses from other files -> why ours has none."""
ABSENT_BY_VERSION = (
    Variant(("_spec_symbol_to_compile_symbol", "_shape_spec_pending_assumptions"), until=(2, 14)),
    Variant(("evaluate_symexpr",), until=(2, 15)),
    Variant(("_transfer_foreign_expr_as_unbacked", "_set_unbacked_var_to_hint_override"), since=(2, 14)),
    Variant(("_symop_cache",), since=(2, 15)),
)
"""Those of them that torch has in some versions only."""


def absent() -> set[str]:
    rows = [row for row in ABSENT_BY_VERSION if applies(row)]
    by_version = {name for row in ABSENT_BY_VERSION for name in row.value}
    return set(ABSENT) - by_version | {name for row in rows for name in row.value}


@functools.cache
def sources() -> dict[str, str]:
    """torch's Python files, without those of the environment itself and torch's tests."""
    paths = (path.relative_to(TORCH).as_posix() for path in TORCH.rglob("*.py"))
    wanted = (p for p in paths if p not in THE_ENVIRONMENT_ITSELF and not p.startswith("testing/"))
    return {p: (TORCH / p).read_text(errors="replace") for p in wanted}


def used(pattern: re.Pattern[str]) -> set[str]:
    word = "shape_env" if pattern is OF_AN_ENVIRONMENT else ".node."
    found = (match for text in sources().values() if word in text for match in pattern.finditer(text))
    return {next(filter(None, match.groups())) for match in found}


def test_what_torch_uses_of_an_environment() -> None:
    env, torchs = TorchShapeEnv(), ShapeEnv()
    asked = {name for name in used(OF_AN_ENVIRONMENT) if hasattr(torchs, name)}
    assert len(asked) > 60, "the pattern finds what it should"
    assert {name for name in asked if not hasattr(env, name)} == absent()


def test_what_torch_uses_of_a_node() -> None:
    env = TorchShapeEnv()
    node = env.wrap(env.core.backed(4)).node
    asked = {name for name in used(OF_A_NODE) if hasattr(TorchSymNode, name) or name in {"expr", "hint", "_hint"}}
    assert len(asked) > 15
    assert [name for name in asked if not hasattr(node, name)] == []


def test_what_c_calls_of_a_node() -> None:
    """The methods that C++ calls by name."""
    header = (TORCH / "include/torch/csrc/utils/python_symnode.h").read_text()
    named = set(re.findall(r'attr\("(\w+)"\)|SIZES_STRIDES\((is_\w+)\)', header))
    methods = re.findall(r"^  \S+ (\w+)\([^;{]*\)(?: const)? override \{\s*return dispatch_", header, re.MULTILINE)
    called = {*itertools.chain(*named), *methods} - {""}
    assert {"guard_int", "str", "is_contiguous", "sym_min"} <= called
    asked = {name for name in called if hasattr(TorchSymNode, name)}
    assert {name for name in asked if getattr(SymNode, name) is getattr(TorchSymNode, name)} == set()


# -- torch's questions about a size ----------------------------------------------------------------------------------
@pytest.fixture
def env() -> TorchShapeEnv:
    return TorchShapeEnv()


def test_questions_that_take_any_answer(env: TorchShapeEnv) -> None:
    n, u = env.wrap(env.core.backed(6, lo=1)), env.create_unbacked_symint()
    assert theirs.statically_known_true(n >= 1) and not theirs.statically_known_true(n >= 2)
    assert theirs.statically_known_false(n < 1) and not theirs.statically_known_false(n < 2)
    assert not theirs.statically_known_true(u > 3) and not theirs.statically_known_true(u <= 3)
    assert not theirs.guard_or_false(u == 3) and theirs.guard_or_true(u == 3)
    assert not env.core.facts, "none of these is a fact"
    assert theirs.guard_or_false(n == 6) and [str(f.relation) for f in env.core.facts] == ["s0 == 6"]


def test_hints(env: TorchShapeEnv) -> None:
    n, u = env.wrap(env.core.backed(6, lo=1)), env.create_unbacked_symint()
    assert theirs.guarding_hint_or_throw(2 * n + 1) == 13
    assert theirs.guarding_hint_or_throw(n > 7) is False
    assert theirs.optimization_hint(n * 2) == 12
    assert theirs.optimization_hint(u, fallback=64) == 64
    assert theirs.has_guarding_hint(n) and not theirs.has_guarding_hint(u)
    with pytest.raises(DataDependentError):
        theirs.guarding_hint_or_throw(u + n)
    assert not env.core.facts


def test_conjunctions_and_symbols(env: TorchShapeEnv) -> None:
    n, m, u = env.wrap(env.core.backed(6)), env.wrap(env.core.backed(4)), env.create_unbacked_symint()
    assert theirs.free_symbols(n + u) == {n.node.expr, u.node.expr}
    assert theirs.free_unbacked_symbols([n, u]) == {u.node.expr}
    assert theirs.has_free_symbols(n) and not theirs.has_free_symbols(7)
    assert theirs.has_free_unbacked_symbols(u) and not theirs.has_free_unbacked_symbols(n)
    assert theirs.is_symbolic(n) and not theirs.is_symbolic(3)
    both, either = theirs.sym_and(n > 3, m > 3), theirs.sym_or(n > 9, m > 9)
    assert bool(both) and not bool(either)
    assert bool(theirs.sym_eq((n, 4), (6, m)))


def test_numbers_that_are_known(env: TorchShapeEnv) -> None:
    n = env.wrap(env.core.backed(6))
    assert not theirs.is_concrete_int(n) and not theirs.has_static_value(n)
    env.core.assume(eq(env.unwrap(n), 6))
    assert theirs.has_static_value(n)
    assert theirs.guard_scalar(n * 2) == 12 and theirs.guard_int(n) == 6
    assert theirs.guard_float(torch.sym_float(n)) == 6.0


def test_checks_that_bind_a_size(env: TorchShapeEnv) -> None:
    u, v = env.create_unbacked_symint(), env.create_unbacked_symint()
    theirs.constrain_range(u, min=2, max=9)
    assert env.core.bounds(env.unwrap(u)) == (2, 9)
    theirs.constrain_unify(u, v)
    assert theirs.statically_known_true(v >= 2)
    torch._check_is_size(v)
    assert theirs.expect_true(u <= 8) and env.core.bounds(env.unwrap(v)) == (2, 8)


def test_replacements(env: TorchShapeEnv) -> None:
    n, m = env.wrap(env.core.backed(6)), env.wrap(env.core.backed(8))
    name = n.node._expr, m.node._expr
    assert dict(env.replacements) == {}
    assert n + 2 == m
    ((symbol, value),) = env.replacements.items()
    assert {symbol} | value.free_symbols == set(name)
    assert sympy.simplify((name[0] + 2 - name[1]).subs(symbol, value)) == 0


def test_deprecated_questions_still_answer(env: TorchShapeEnv) -> None:
    n = env.wrap(env.core.backed(6, lo=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert theirs.guard_size_oblivious(n == 6)
    assert theirs.guard_bool(n > 2)


def test_symbols_of_a_tensor(env: TorchShapeEnv) -> None:
    mode = fake_mode(env)
    x = create_symbolic_tensor(mode, torch.zeros(6, 4), [Fresh(), None])
    assert theirs.has_symbolic_sizes_strides(x) and theirs.has_free_symbols(x)
    assert theirs.free_symbols(x) == {x.shape[0].node.expr}
    env.pending_fresh_unbacked_symbols.clear()
    with mode:
        found = torch.nonzero(x)
    assert list(theirs.compute_unbacked_bindings(env, found) or {}) == [found.shape[0].node.expr]


@pytest.mark.skipif(not hasattr(TorchSymNode, "xor"), reason="SymBool ^ SymBool is an operator since torch 2.14")
@pytest.mark.parametrize("limits", list(itertools.product((2, 4, 9), repeat=2)), ids=str)
def test_exclusive_or(env: TorchShapeEnv, limits: tuple[int, int]) -> None:
    n = env.wrap(env.core.backed(6, lo=0))
    assert bool((n > limits[0]) ^ (n > limits[1])) is ((limits[0] < 6) ^ (limits[1] < 6))
