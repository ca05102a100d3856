"""torch.func, torch.autograd.grad and custom Functions: the program is the ATen operators that they come down to."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from tests.hops.cond_programs import Base, X
from tests.hops.harness import Program, check_equal
from tests.hops.transform_programs import PROGRAMS

LOWERED = ("per_sample", "hessian", "autograd_second", "custom_vmap")
"""Programs of transforms of which nothing but ATen operators is left."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_equals_eager(program: Program) -> None:
    ep = check_equal(program)
    if program.name in LOWERED:
        targets = {str(n.target) for m in ep.graph_module.modules() for n in m.graph.nodes if n.op == "call_function"}
        others = {"wrap_with_set_grad_enabled", "autograd_function_apply", "<built-in function getitem>"}
        assert all(target.startswith("aten.") or target in others for target in targets)


def test_the_lowered_programs_exist() -> None:
    assert {program.name for program in PROGRAMS} >= {*LOWERED}


def test_randomness_is_asked_for_as_in_eager() -> None:
    module = type("M", (Base,), {"forward": lambda self, x: torch.vmap(lambda r: r + torch.rand(3))(x)})()
    with pytest.raises(RuntimeError, match="randomness"):
        module(X)
    with pytest.raises(RuntimeError, match="randomness"):
        dynamo_lite.export(module, (X,))


def test_control_flow_inside_of_a_transform_is_refused() -> None:
    def forward(self: Base, x: torch.Tensor) -> torch.Tensor:
        return torch.func.grad(lambda r: torch.cond(r.sum() > 0, lambda r: r.sum(), lambda r: r.prod(), (r,)))(x)

    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(type("M", (Base,), {"forward": forward})(), (X,))
    assert caught.value.id == "control-flow-in-transform"


def _put(row: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    row = row.clone()
    row[0, i] += 5
    return row


INDEXED: dict[str, Any] = {
    "one": lambda row, i: row[i],
    "among others": lambda row, i: row[None, ..., i, 1:],
    "twice": lambda row, i: row[i, i],
    "beside a number": lambda row, i: row[-1, i] + row[i].sum(),
    "computed": lambda row, i: row[(i + 1) % 3],
    "assigned": _put,
    "in two maps": lambda row, i: torch.vmap(lambda k: row[i] * k)(row),
    "in a gradient": lambda row, i: torch.func.grad(lambda row: row[i].sin().sum())(row),
    "of what is not mapped": lambda row, i: torch.eye(3)[i] * row,
}


@pytest.mark.parametrize("name", INDEXED)
def test_an_index_that_vmap_maps_over(name: str) -> None:
    """It has a value for each iteration: no number."""
    mapped = torch.vmap(INDEXED[name])
    example = (torch.randn(4, 3, 3), torch.tensor([0, 1, 2, 0]))
    program = dynamo_lite.export(lambda x, indices: mapped(x, indices), example).module()
    for indices in (example[1], torch.tensor([2, 2, 0, 1])):
        x = torch.randn(4, 3, 3)
        torch.testing.assert_close(program(x, indices), mapped(x, indices))


WEIGHT = torch.nn.Parameter(torch.ones(3))

THROUGH: dict[str, Any] = {
    "cond": lambda y: torch.cond(y.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (y,)),
    "behind another": lambda y: y + torch.cond(y.sum() > 0, lambda w, y: w * y, lambda w, y: w + y, (WEIGHT, y)),
    "map": lambda y: torch._higher_order_ops.map(lambda row: row.sin(), y),
}


@pytest.mark.parametrize("name", THROUGH)
def test_a_gradient_through_control_flow_is_refused(name: str) -> None:
    """Silently without that part of the gradient, until now, where another operand requires grad before it."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        return torch.autograd.grad(THROUGH[name](x * 2).sum(), x)[0]

    forward(torch.randn(3))
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(forward, (torch.randn(3),))
    assert caught.value.id == "control-flow-gradient"


def test_a_gradient_through_a_branch() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        y = x * 2
        return torch.autograd.grad((y.sin() if y.sum() > 0 else y.cos()).sum(), x)[0]

    program = dynamo_lite.export(forward, (torch.ones(3),)).module()
    for x in (torch.ones(3), -torch.ones(3)):
        torch.testing.assert_close(program(x), forward(x))


def test_a_gradient_beside_control_flow() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        y = torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))
        return torch.autograd.grad((x * y.detach()).sum(), x)[0]

    program = dynamo_lite.export(forward, (torch.ones(3),)).module()
    for x in (torch.ones(3), -torch.ones(3)):
        torch.testing.assert_close(program(x), forward(x))


def test_backward_into_leaves_adds_to_buffers_of_the_program() -> None:
    def forward(self: Base, x: torch.Tensor) -> torch.Tensor:
        self.linear(x).sum().backward()
        return x

    module = type("M", (Base,), {"forward": forward})()
    program = dynamo_lite.export(module, (X,))
    assert module.linear.weight.grad is None
    ours = program.module()
    for _ in range(2):
        ours(X)
        module(X)
    torch.testing.assert_close(dict(ours.named_buffers())["grad.linear.weight"], module.linear.weight.grad)
