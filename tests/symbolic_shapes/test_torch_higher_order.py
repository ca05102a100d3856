"""Higher-order operators and function transforms on fake tensors with symbolic sizes: what eager gives, as they are and
traced by make_fx; and the traced graph at other sizes.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._dynamo.source import ConstantSource
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.auto_functionalize import auto_functionalized
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.flex_attention import flex_attention
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.invoke_subgraph import invoke_subgraph
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.out_dtype import out_dtype
from torch._higher_order_ops.scan import scan, scan_op
from torch._higher_order_ops.strict_mode import strict_mode
from torch._higher_order_ops.while_loop import while_loop_op
from torch._higher_order_ops.wrap import wrap_with_set_grad_enabled
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext
from torch.utils import _pytree as pytree

from benchmarks.op_db_symbolic import describe, same
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import symbols_of
from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import fake_mode
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv

N = -1
"""A size that the second example has larger."""
Shape = tuple[int, ...]

BLOCKS = [torch.ones(1, 1, 1, dtype=torch.int32), torch.zeros(1, 1, 1, 1, dtype=torch.int32), None, None]
BLOCK_MASK = (1, 1, *BLOCKS, *BLOCKS, 128, 128, lambda b, h, m, n: m >= n)

OPERATORS: dict[str, tuple[Callable[..., Any], list[Shape]]] = {
    "cond on data": (lambda x: cond_op(x.sum() > 0, lambda a: (a.sin(),), lambda a: (a.cos(),), (x,)), [(N, 4)]),
    "cond on a size": (lambda x: cond_op(x.shape[0] > 3, lambda a: (a.sin(),), lambda a: (a.cos(),), (x,)), [(N, 4)]),
    "cond, slices of the operand": (
        lambda x: cond_op(x.sum() > 0, lambda a: (a[:2].sum(0),), lambda a: (a[1:].sum(0),), (x,)), [(N, 4)]),
    "cond with a size for an operand": (
        lambda x: cond_op(x.sum() > 0, lambda a, n: (a * n,), lambda a, n: (a - n,), (x, x.shape[0])), [(N, 4)]),
    "while_loop": (
        lambda x, w: while_loop_op(lambda i, a, w: i < 5, lambda i, a, w: (i + 1, a @ w),
                                   (torch.zeros((), dtype=torch.int64), x), (w,)), [(N, 4), (4, 4)]),
    "while_loop up to a size": (
        lambda x: while_loop_op(lambda i, a: i < a.shape[0], lambda i, a: (i + 1, a + i), (0, x), ()), [(N, 4)]),
    "scan": (
        lambda x, i, w: scan_op(lambda c, a, w: [c + a @ w, c * 2], [i], [x], additional_inputs=(w,)),
        [(N, 4), (4,), (4, 4)]),
    "scan along the last dimension": (
        lambda x, i: scan(lambda c, a: (c + a, c * a.sum()), i, x, dim=1), [(6, N), (6,)]),
    "map": (lambda x, y: map_impl(lambda a, b: (a.sum(0) * b, a @ a.t()), [x], [y]), [(N, 4, 3), (3,)]),
    "associative_scan": (
        lambda x: associative_scan(lambda a, b: a * b, x, 0, combine_mode="generic"), [(8, N)]),
    "flex_attention": (
        lambda q, k, v: flex_attention(q, k, v, lambda s, b, h, m, n: s + (m - n), BLOCK_MASK, 0.5, {}, (), ()),
        [(N, 3, 16, 8)] * 3),
    "hints_wrapper": (lambda x, y: hints_wrapper(lambda a, b: a @ b, (x, y), {}, hints={"k": 1}), [(N, 4), (4, 3)]),
    "auto_functionalized": (
        lambda x, y: auto_functionalized(torch.ops.symbolic_shapes_hop.add_into.default, x=x, y=y), [(N, 4), (N, 4)]),
    "strict_mode": (lambda x: strict_mode(lambda a: (a.sin(),), (x,)), [(N, 4)]),
    "out_dtype": (
        lambda x, y: out_dtype(torch.ops.aten.mm.default, torch.int32, x.to(torch.int8), y.to(torch.int8)),
        [(N, 4), (4, 5)]),
    "invoke_subgraph": (
        lambda x: invoke_subgraph(make_fx(lambda a: (a.sin() + 1,))(x), "s", x), [(N, 4)]),
    "wrap_with_set_grad_enabled": (
        lambda x: wrap_with_set_grad_enabled(False, lambda a: (a * a.shape[0],), x), [(N, 4)]),
    "checkpoint": (
        lambda x: torch.utils.checkpoint.checkpoint(lambda a: a.relu() @ a.t(), x, use_reentrant=False), [(N, 4)]),
    "vmap": (lambda x, y: torch.vmap(lambda a, b: a @ b, in_dims=(0, None))(x, y), [(N, 4, 3), (3, 2)]),
    "vmap of vmap": (
        lambda x, y: torch.vmap(torch.vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))(x, y), [(N, 4), (5, 4)]),
    "gradients per sample": (
        lambda w, x: torch.vmap(torch.func.grad(lambda w, x: (x @ w).sum()), in_dims=(None, 0))(w, x),
        [(4, 3), (N, 4)]),
    "grad": (lambda x: torch.func.grad(lambda a: (a.sin() * a.shape[0]).sum())(x), [(N, 4)]),
    "jvp": (lambda x, y: torch.func.jvp(torch.sin, (x,), (y,)), [(N, 4), (N, 4)]),
    "jacrev": (lambda x: torch.func.jacrev(lambda a: a.sin().sum(0))(x), [(3, N)]),
    "hessian": (lambda x: torch.func.hessian(lambda a: (a**3).sum())(x), [(N,)]),
    "functionalize": (lambda x: torch.func.functionalize(lambda a: a.clone().add_(1).view(-1))(x), [(N, 4)]),
}
NO_PRE_DISPATCH = {
    "associative_scan", "vmap", "vmap of vmap", "gradients per sample", "grad", "jvp", "jacrev", "hessian",
    "functionalize"}
"""Function transforms: make_fx cannot trace them at the PreDispatch key with torch's environment either."""
SPECIALIZED = {"associative_scan", "hessian"}
"""A kernel of torch's takes the size's number, with torch's environment too: a guard says so."""


@pytest.fixture(autouse=True, scope="module")
def an_operator_that_changes_its_argument() -> Any:
    with torch.library._scoped_library("symbolic_shapes_hop", "FRAGMENT") as library:
        library.define("add_into(Tensor(a!) x, Tensor y) -> Tensor")
        library.impl("add_into", lambda x, y: x.add_(y).clone(), "CompositeExplicitAutograd")
        torch.library.register_fake("symbolic_shapes_hop::add_into", lambda x, y: torch.empty_like(x), lib=library)
        yield


def inputs(shapes: list[Shape], size: int) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn([size if s == N else s for s in shape]) for shape in shapes]


def fakes(tensors: list[torch.Tensor]) -> tuple[Any, list[Any]]:
    mode = fake_mode(TorchShapeEnv(duck_shape=True, specialize_zero_one=True), allow_non_fake_inputs=True)
    contexts = [StatelessSymbolicContext([DimDynamic.DUCK] * t.dim()) for t in tensors]
    return mode, [mode.from_tensor(t, source=ConstantSource(f"x{i}"), symbolic_context=context)
                  for i, (t, context) in enumerate(zip(tensors, contexts))]


def check(given: Any, expected: Any) -> None:
    pairs = list(zip(pytree.tree_leaves(given), pytree.tree_leaves(expected), strict=True))
    assert pairs and all(same(describe(g, {}), describe(e, {})) for g, e in pairs)


@pytest.mark.parametrize("name", OPERATORS)
def test_sizes_are_eagers(name: str) -> None:
    program, shapes = OPERATORS[name]
    real = inputs(shapes, 7)
    expected = program(*real)
    mode, fake = fakes(real)
    with mode, enable_python_dispatcher():
        check(program(*fake), expected)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_traced_graph_is_for_other_sizes_too(name: str) -> None:
    pre_dispatch = name not in NO_PRE_DISPATCH
    program, shapes = OPERATORS[name]
    mode, fake = fakes(inputs(shapes, 7))
    graph = make_fx(program, tracing_mode="symbolic", pre_dispatch=pre_dispatch)(*fake)
    assert admits(mode.shape_env, 11) == (name not in SPECIALIZED)
    for size in (7, 11) if name not in SPECIALIZED else (7,):
        real = inputs(shapes, size)
        given, expected = graph(*real), program(*real)
        check(given, expected)
        for g, e in zip(pytree.tree_leaves(given), pytree.tree_leaves(expected), strict=True):
            torch.testing.assert_close(g, e, rtol=1e-4, atol=1e-5)


def admits(env: TorchShapeEnv, size: int) -> bool:
    """Whether what was recorded holds where the sizes that are 7 in the example are another."""
    values = {s: size if s.hint == 7 else s.hint for s in env.core.symbols.values()}
    known = [fact.relation for fact in env.core.facts if symbols_of(fact.relation) <= {s for s in values if s.hint}]
    return all(evaluate(relation, values) for relation in known)
