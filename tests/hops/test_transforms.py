"""torch.func, torch.autograd.grad and custom Functions: the program is the ATen operators that they come down to."""

from __future__ import annotations

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
        others = {"wrap_with_set_grad_enabled", "<built-in function getitem>"}
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


def test_backward_into_leaves_is_refused() -> None:
    def forward(self: Base, x: torch.Tensor) -> torch.Tensor:
        self.linear(x).sum().backward()
        return x

    module = type("M", (Base,), {"forward": forward})()
    with pytest.raises(GraphBreak):
        dynamo_lite.export(module, (X,))
    assert module.linear.weight.grad is None
