"""Facts about values that only run time knows: the program raises exactly where eager raises."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import fx

import dynamo_lite
from dynamo_lite.capture import CaptureError
from dynamo_lite.program.shapes.runtime_asserts import insert_runtime_asserts
from dynamo_lite.symbolic_shapes import Origin, ge, le
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv
from tests.dynamic.bridge_programs import AUTO

ASSERT = torch.ops.aten._assert_scalar.default


class _Fn(torch.nn.Module):
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *args: Any) -> Any:
        return self.fn(*args)


def bounded(x: torch.Tensor, n: torch.Tensor) -> Any:
    count = n.item()
    torch._check(count >= 2)
    torch._check(count < x.shape[0])
    return x[:count] * 2


def related(x: torch.Tensor, n: torch.Tensor) -> Any:
    first, second = n.tolist()
    torch._check(first >= 0)
    torch._check(second >= first)
    torch._check(second <= x.shape[0])
    return x[first:second].sum(0), torch.arange(second)


def multiple(x: torch.Tensor, n: torch.Tensor) -> Any:
    count = n.item()
    torch._check(count >= 0)
    torch._check(count % 3 == 0)
    torch._check(count != 6)
    return torch.zeros(count // 3) + x.shape[0]


def equal(x: torch.Tensor, n: torch.Tensor) -> Any:
    rows = n.item()
    torch._check(rows == x.shape[0])
    return torch.ones(rows, 2) + x


def of_nonzero(x: torch.Tensor, n: torch.Tensor) -> Any:
    rows = x[:, 0].nonzero()
    torch._check(rows.shape[0] == n.shape[0])
    return rows.squeeze(1) + n


def flags(x: torch.Tensor, n: torch.Tensor) -> Any:
    torch._check((n > 3).item())
    return x * 2


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int, int], torch.Tensor], tuple[int, int]]] = {
    "bounded": (bounded, lambda a, _: torch.tensor(a), (3, 0)),
    "related": (related, lambda a, b: torch.tensor([a, b]), (1, 3)),
    "multiple": (multiple, lambda a, _: torch.tensor(a), (9, 0)),
    "equal": (equal, lambda a, _: torch.tensor(a), (5, 0)),
    "of_nonzero": (of_nonzero, lambda a, _: torch.arange(max(a, 0)), (5, 0)),
    "flags": (flags, lambda a, _: torch.tensor(a), (7, 0)),
}
_MODULES: dict[str, list[Any]] = {}


def modules(name: str) -> list[Any]:
    """The program as it is, after loading, and decomposed."""
    if name not in _MODULES:
        fn, make, numbers = PROGRAMS[name]
        spec = ({0: AUTO}, {0: AUTO} if name == "of_nonzero" else None)
        program = dynamo_lite.export(_Fn(fn), (torch.ones(5, 2), make(*numbers)), dynamic_shapes=(spec,))
        buffer = io.BytesIO()
        torch.export.save(program, buffer)
        buffer.seek(0)
        versions = [program, torch.export.load(buffer), program.run_decompositions()]
        _MODULES[name] = [version.module() for version in versions]
    return _MODULES[name]


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=40, deadline=None)
@given(rows=st.integers(0, 8), a=st.integers(-3, 12), b=st.integers(-3, 12))
def test_the_program_raises_where_eager_raises(name: str, rows: int, a: int, b: int) -> None:
    fn, make, _ = PROGRAMS[name]
    x, n = torch.ones(rows, 2), make(a, b)
    try:
        expected = fn(x, n)
    except (RuntimeError, IndexError):
        expected = None
    for module in modules(name):
        if expected is None:
            with pytest.raises((RuntimeError, AssertionError)):
                module(x, n)
        else:
            for got, want in zip(torch.utils._pytree.tree_leaves(module(x, n)),
                                 torch.utils._pytree.tree_leaves(expected), strict=True):
                torch.testing.assert_close(got, want)


def test_the_message_names_the_expression_and_the_line() -> None:
    line = bounded.__code__.co_firstlineno + 2
    with pytest.raises(RuntimeError) as raised:
        modules("bounded")[0](torch.ones(5, 2), torch.tensor(1))
    assert "Runtime assertion failed for expression u0 >= 2" in str(raised.value)
    assert f"test_runtime_asserts.py:{line}" in str(raised.value)
    assert "known after the node item" in str(raised.value)


def test_each_assertion_follows_what_it_is_about() -> None:
    """Assertions about the first value stand before the second one is made; none is there twice."""
    program = dynamo_lite.export(
        _Fn(related), (torch.ones(5, 2), torch.tensor([1, 3])), dynamic_shapes=(({0: AUTO}, None),)
    )
    nodes = list(program.graph.nodes)
    items = [i for i, node in enumerate(nodes) if node.target is torch.ops.aten.item.default]
    asserts = [(i, node.args[0]) for i, node in enumerate(nodes) if node.target is ASSERT]
    assert len(items) == 2 and len(asserts) == 3
    (lower, _), *others = asserts
    assert items[0] < lower < items[1] < others[0][0]
    assert len({str(condition.meta["val"]) for _, condition in asserts}) == 3


def test_what_others_entail_is_not_asserted() -> None:
    def twice(x: torch.Tensor, n: torch.Tensor) -> Any:
        count = n.item()
        torch._check(count >= 4)
        torch._check(count >= 2)
        torch._check(count + 1 > 3)
        return torch.zeros(count) + x

    program = dynamo_lite.export(_Fn(twice), (torch.ones(1), torch.tensor(4)))
    assert [str(n.args[0].meta["val"]) for n in program.graph.nodes if n.target is ASSERT] == ["u0 >= 4"]


def test_metadata_of_the_new_nodes_is_complete() -> None:
    program = dynamo_lite.export(
        _Fn(bounded), (torch.ones(5, 2), torch.tensor(3)), dynamic_shapes=(({0: AUTO}, None),)
    )
    for node in program.graph.nodes:
        if node.op == "call_function":
            assert node.meta["nn_module_stack"] and "val" in node.meta, node
    torch.export.unflatten(program)(torch.ones(5, 2), torch.tensor(3))


def test_a_fact_about_a_value_outside_of_the_graph() -> None:
    """Nobody's business while it stays among such values; refused where the program relies on it."""
    env = TorchShapeEnv(where=lambda: Origin("user line", "model.py", 3))
    lost, size = env.core.unbacked(), env.core.backed(4, lo=0)
    graph = fx.Graph()
    graph.placeholder("n").meta["val"] = env.wrap(size)
    graph.output(())
    env.core.assume(ge(lost, 2))
    insert_runtime_asserts([graph], env)
    assert not [node for node in graph.nodes if node.target is ASSERT]
    env.core.assume(le(lost, size))
    with pytest.raises(CaptureError, match="u0 is not a value that the graph computes"):
        insert_runtime_asserts([graph], env)


def test_assertions_in_a_branch_stay_there() -> None:
    """A value that a branch of `cond` computes is asserted in the branch, when it is taken."""

    def branches(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        def positive(n: torch.Tensor) -> torch.Tensor:
            count = n.item()
            torch._check(count <= 5)
            return n + count

        return torch.cond(x.sum() > 0, positive, lambda n: n * 2, (n,)) + x.shape[0]

    program = dynamo_lite.export(_Fn(branches), (torch.ones(4), torch.tensor(3)), dynamic_shapes=(({0: AUTO}, None),))
    for module in (program.module(), program.run_decompositions().module()):
        # Eager compiles a cond with TorchDynamo, which takes these values for constants: 4 + 4 + 2 and 9 * 2 + 3.
        assert module(torch.ones(2), torch.tensor(4)).item() == 10
        assert module(-torch.ones(3), torch.tensor(9)).item() == 21
        with pytest.raises(RuntimeError, match="5"):
            module(torch.ones(2), torch.tensor(9))


def test_a_branch_gets_sizes_that_are_asserted_outside() -> None:
    """A size of a branch's input is a value of the graph around it: nothing is asserted twice."""

    def branches(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        count = n.item()
        torch._check(count >= 0)
        torch._check(count <= x.shape[0])
        return torch.cond(n > 2, lambda y: y.sum(0) + count, lambda y: y.sum(0) - count, (x[:count],))

    call = torch.ones(5, 2), torch.tensor(3)
    program = dynamo_lite.export(_Fn(branches), call, dynamic_shapes=(({0: AUTO}, None),))
    graphs = [m.graph for m in program.graph_module.modules() if isinstance(m, fx.GraphModule)]
    assert [sum(node.target is ASSERT for node in graph.nodes) for graph in graphs] == [2, 0, 0]
    module = program.module()
    assert module(torch.ones(6, 2), torch.tensor(4)).tolist() == [8.0, 8.0]
    assert module(torch.ones(2, 2), torch.tensor(1)).tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="for expression u0 <= s0"):
        module(torch.ones(2, 2), torch.tensor(3))


def test_floats_that_only_run_time_knows() -> None:
    """torch's deserializer needs the range of such a float."""

    def scaled(x: torch.Tensor) -> Any:
        factor = x.sum().item()
        return x * factor, factor

    program = dynamo_lite.export(_Fn(scaled), (torch.ones(3),), dynamic_shapes=(({0: AUTO},),))
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    for version in (program, program.run_decompositions(), torch.export.load(buffer).run_decompositions()):
        product, factor = version.module()(torch.ones(4) / 2)
        assert product.tolist() == [1.0] * 4 and factor == 2.0
