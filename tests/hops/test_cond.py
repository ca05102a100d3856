"""torch.cond against eager and against torch.export's strict mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from tests.hops.cond_programs import BOTH, INFERENCE, PROGRAMS, Base, X
from tests.hops.harness import Program, assert_same, check_equal, check_parity, exported


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_equals_eager(program: Program) -> None:
    check_equal(program)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.parity], ids=lambda p: p.name)
def test_has_the_operators_of_torch_export(program: Program) -> None:
    check_parity(program)


def test_a_branch_may_change_its_operands_when_no_gradients_are_taken() -> None:
    module, ep = exported(INFERENCE)
    for call in INFERENCE.calls:
        assert_same(module, ep.module(), call, gradients=False)


def test_no_rows_and_part_of_a_tensor() -> None:
    """How results lie in memory is asked by us, not by the program: of its inputs nothing follows."""
    forward = lambda x: torch.cond(x.sum() > 0, torch.sin, lambda t: t * 2, (x,))  # noqa: E731
    program = dynamo_lite.export(forward, (torch.ones(4, 3),), dynamic_shapes={"x": {0: torch.export.Dim("n")}})
    for x in (torch.ones(0, 3), torch.ones(1, 3), torch.ones(8, 3)[2:], -torch.ones(8, 3)[1:]):
        torch.testing.assert_close(program.module()(x), forward(x))


def test_the_form_is_that_of_torch_export() -> None:
    _, ep = exported(next(p for p in PROGRAMS if p.name == "state"))
    (call,) = [n for n in ep.graph.nodes if n.target is torch.ops.higher_order.cond]
    predicate, true, false, operands = call.args
    assert (true.op, true.target, false.target) == ("get_attr", "true_graph_0", "false_graph_0")
    assert predicate.target is torch.ops.aten.gt.Scalar
    assert {n.name for n in operands} == {"x", "p_linear_weight", "p_linear_bias", "b_scale"}
    for graph in (ep.graph_module.true_graph_0.graph, ep.graph_module.false_graph_0.graph):
        assert [n.name for n in graph.nodes if n.op == "placeholder"] == [n.name for n in operands]
        assert all("val" in n.meta for n in graph.nodes if n.op != "output")
    assert call.name == "cond" and [tuple(v.shape) for v in call.meta["val"]] == [(3, 3)]
    assert all(key in call.meta for key in ("stack_trace", "nn_module_stack", "torch_fn"))
    assert "torch.cond(" in call.meta["stack_trace"] and "cond_op(" not in call.meta["stack_trace"]


def _module(forward: Callable[..., Any]) -> nn.Module:
    return type("M", (Base,), {"forward": forward})()


def _appends(self: Any, x: torch.Tensor) -> Any:
    seen: list[int] = []

    def true(u: torch.Tensor) -> torch.Tensor:
        seen.append(1)
        return u + 1

    return torch.cond(x.sum() > 0, true, lambda u: u - 1, (x,)) + len(seen)


def _assigns(self: Any, x: torch.Tensor) -> Any:
    def true(u: torch.Tensor) -> torch.Tensor:
        self.offset = 5
        return u + 1

    return torch.cond(x.sum() > 0, true, lambda u: u - 1, (x,))


def _nonlocal(self: Any, x: torch.Tensor) -> Any:
    n = 0

    def true(u: torch.Tensor) -> torch.Tensor:
        nonlocal n
        n += 1
        return u + 1

    return torch.cond(x.sum() > 0, true, lambda u: u - 1, (x,)) + n


def _stores_tensor(self: Any, x: torch.Tensor) -> Any:
    box = {}

    def true(u: torch.Tensor) -> torch.Tensor:
        box["u"] = u * 2
        return u + 1

    return torch.cond(x.sum() > 0, true, lambda u: u - 1, (x,))


def _buffer_assigned(self: Any, x: torch.Tensor) -> Any:
    def true(u: torch.Tensor) -> torch.Tensor:
        self.scale = self.scale + 1
        return u + self.scale

    return torch.cond(x.sum() > 0, true, lambda u: u - 1, (x,))


def _buffer_in_place(self: Any, x: torch.Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda u: u + self.scale.add_(1), lambda u: u - 1, (x,))


def _operand_in_place(self: Any, x: torch.Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda u: u.add_(1) * 2, lambda u: u - 1, (x * 1,))


def _view_in_place(self: Any, x: torch.Tensor) -> Any:
    def true(u: torch.Tensor) -> torch.Tensor:
        u[0].zero_()
        return u + 1

    return torch.cond(x.sum() > 0, true, lambda u: u - 1, (x * 1,))


def _inner_in_place(self: Any, x: torch.Tensor) -> Any:
    def true(u: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return torch.cond(u.max() > 1, lambda v: v.add_(1) * 1, lambda v: v * 2, (u,))

    return torch.cond(x.sum() > 0, true, lambda u: u - 1, (x * 1,))


def _grad_mode(self: Any, x: torch.Tensor) -> Any:
    def true(u: torch.Tensor) -> torch.Tensor:
        torch.set_grad_enabled(False)
        return u + 1

    return torch.cond(x.sum() > 0, true, lambda u: u - 1, (x,))


def _raises(self: Any, x: torch.Tensor) -> Any:
    try:
        return torch.cond(x.sum() > 0, lambda u: u @ torch.ones(7), lambda u: u - 1, (x,))
    except RuntimeError:
        return x


REFUSED = [
    ("subgraph-effect", _appends),
    ("subgraph-effect", _assigns),
    ("subgraph-effect", _nonlocal),
    ("subgraph-effect", _stores_tensor),
    ("subgraph-effect", _buffer_assigned),
    ("subgraph-effect", _grad_mode),
    ("subgraph-mutates", _buffer_in_place),
    ("subgraph-mutates", _operand_in_place),
    ("subgraph-mutates", _view_in_place),
    ("subgraph-mutates", _inner_in_place),
    ("subgraph-raises", _raises),
    ("subgraph-alias", lambda self, x: torch.cond(x.sum() > 0, lambda u: u, lambda u: u - 1, (x,))),
    ("subgraph-alias", lambda self, x: torch.cond(x.sum() > 0, lambda u: u[:2], lambda u: u[1:] * 1, (x,))),
    ("subgraph-alias", lambda self, x: torch.cond(x.sum() > 0, lambda u: [u + 1] * 2, lambda u: [u, u - 1], (x,))),
    ("subgraph-output", lambda self, x: torch.cond(x.sum() > 0, lambda u: (u + 1, object()), lambda u: u, (x,))),
    ("cond-mismatch", lambda self, x: torch.cond(x.sum() > 0, lambda u: u.double(), lambda u: u - 1, (x,))),
    ("cond-mismatch", lambda self, x: torch.cond(x.sum() > 0, lambda u: u.sum(), lambda u: u - 1, (x,))),
    ("cond-mismatch", lambda self, x: torch.cond(x.sum() > 0, lambda u: (u + 1,), lambda u: u - 1, (x,))),
    ("cond-mismatch", lambda self, x: torch.cond(x.sum() > 0, lambda u: {"a": u + 1}, lambda u: {"b": u - 1}, (x,))),
    ("cond-mismatch", lambda self, x: torch.cond(x.sum() > 0, lambda u: (u + 1, 2.0), lambda u: (u - 1, 3.0), (x,))),
    ("cond-mismatch", lambda self, x: torch.cond(x.sum() > 0, lambda u: u + 1, lambda u: 1, (x,))),
]


@pytest.mark.parametrize(("id", "forward"), REFUSED, ids=[f"{n}-{id}" for n, (id, _) in enumerate(REFUSED)])
def test_is_refused(id: str, forward: Callable[..., Any]) -> None:
    module = _module(forward)
    before = (module.offset, module.scale, module.scale.clone())
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(module, (X,))
    assert caught.value.id == id
    assert module.offset == before[0] and module.scale is before[1] and torch.equal(module.scale, before[2])
    assert torch.is_grad_enabled()


def test_errors_of_the_call_itself_are_the_programs() -> None:
    for predicate in (torch.ones(2), "yes"):
        module = _module(lambda self, x, p=predicate: torch.cond(p, lambda u: u + 1, lambda u: u - 1, (x,)))
        with pytest.raises(RuntimeError, match="pred"):
            module(X)
        with pytest.raises(RuntimeError, match="pred"):
            dynamo_lite.export(module, (X,))


def test_net_nothing_is_no_effect() -> None:
    def forward(self: Any, x: torch.Tensor) -> Any:
        def true(u: torch.Tensor) -> torch.Tensor:
            self.offset, kept = 9, self.offset
            try:
                return u * self.offset
            finally:
                self.offset = kept

        return torch.cond(x.sum() > 0, true, lambda u: u - 1, (x,))

    check_equal(Program("restored", lambda: _module(forward), BOTH))
