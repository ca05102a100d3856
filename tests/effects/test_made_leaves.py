"""requires_grad of what a program returns: as in eager, or refused. Eager is the oracle."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.errors import GraphBreak

LOOSE = nn.Parameter(torch.ones(2))
PLAIN, LEARNS = torch.ones(2), torch.ones(2, requires_grad=True)


class Model(nn.Module):
    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__()
        self.body = body
        self.w = nn.Parameter(torch.ones(2))
        self.register_buffer("b", torch.ones(2))

    def forward(self, x: torch.Tensor) -> Any:
        return self.body(self, x)


class Doubles(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 3


def _quiet(fn: Callable[[], Any]) -> Any:
    with torch.no_grad():
        return fn()


def _force(s: Any, x: torch.Tensor, through: bool, create_graph: bool) -> torch.Tensor:
    y = x.detach().requires_grad_()
    with torch.enable_grad():
        energy = ((y * s.w) ** 2).sum() if through else (y**3).sum()
    return torch.autograd.grad(energy, y, create_graph=create_graph)[0]


def _flag(s: Any, x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y.requires_grad = True
    return y


def _write(s: Any, x: torch.Tensor, through_view: bool) -> Any:
    y = torch.zeros(2)
    z = y[0:1]
    (z if through_view else y).copy_(s.w[0:1] if through_view else s.w)
    return y, z, y * 2


SAME: dict[str, tuple[Callable[..., Any], torch.Tensor]] = {
    "computed on with a parameter": (lambda s, x: (x * s.w).detach().requires_grad_() * s.w, PLAIN),
    "forces": (lambda s, x: _force(s, x, True, False), PLAIN),
    "forces that learn": (lambda s, x: _force(s, x, True, True), PLAIN),
    "a parameter from outside": (lambda s, x: (LOOSE * x, LOOSE), PLAIN),
    "an input": (lambda s, x: (x, x.t(), x.view(2, 1), x[0] * 2), LEARNS),
    "a function": (lambda s, x: (Doubles.apply(x), Doubles.apply(x.detach() * s.w)), LEARNS),
    "detached": (lambda s, x: torch.zeros(2, requires_grad=True).detach() + x, PLAIN),
    "under no_grad": (lambda s, x: (_quiet(lambda: s.w * 2), _quiet(lambda: s.w[0]), _quiet(lambda: x + 1)), LEARNS),
    "written": (lambda s, x: _write(s, x, False), PLAIN),
    "written through a view": (lambda s, x: _write(s, x, True), PLAIN),
    "written under no_grad": (lambda s, x: [y := s.w * 2, _quiet(lambda: y.mul_(2))], PLAIN),
    "integers": (lambda s, x: (s.w.argmax(), s.w > 0), PLAIN),
    "a transform": (lambda s, x: torch.func.grad(lambda a: (a * s.w).sum())(x), PLAIN),
    "a view that no_grad made": (lambda s, x: _quiet(lambda: [x.view(2, 1).requires_grad, x[0].is_leaf]), LEARNS),
    "computed on": (lambda s, x: (x * s.w).detach().requires_grad_() * 3, PLAIN),
    "a factory": (lambda s, x: torch.zeros(2, requires_grad=True) + x, PLAIN),
    "a literal": (lambda s, x: torch.tensor([1.0, 2.0], requires_grad=True) * x, PLAIN),
    "a parameter": (lambda s, x: nn.Parameter(torch.zeros(2)) + x, PLAIN),
    "forces of the input alone, with create_graph": (lambda s, x: _force(s, x, False, True), PLAIN),
    "of a no_grad region": (lambda s, x: _quiet(lambda: s.w * 2).requires_grad_() * 1, PLAIN),
}  # fmt: skip
REFUSED: dict[str, Callable[..., Any]] = {
    "requires_grad_": lambda s, x: (x * 2).requires_grad_(),
    "set": _flag,
    "a buffer's copy": lambda s, x: s.b.clone().requires_grad_(),
}


@pytest.mark.parametrize("dynamic_shapes", [None, {"x": {0: Dim.AUTO}}], ids=["static", "dynamic"])
@pytest.mark.parametrize(("body", "x"), SAME.values(), ids=SAME)
def test_results_require_grad_as_in_eager(body: Callable[..., Any], x: torch.Tensor, dynamic_shapes: Any) -> None:
    model = Model(body)
    program = dynamo_lite.export(model, (copy.deepcopy(x),), dynamic_shapes=dynamic_shapes)
    want, got = model(copy.deepcopy(x)), program.module()(copy.deepcopy(x))
    pairs = [*zip(pytree.tree_leaves(want), pytree.tree_leaves(got), strict=True)]
    for mine, theirs in pairs:
        if isinstance(mine, torch.Tensor):
            assert torch.equal(mine, theirs) and mine.requires_grad == theirs.requires_grad
        else:
            assert mine is theirs
    assert dynamo_lite.export(model, (copy.deepcopy(x),), dynamic_shapes=dynamic_shapes)  # from memory


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_a_result_that_the_program_itself_set_to_require_grad_is_refused(body: Callable[..., Any]) -> None:
    model = Model(body)
    assert any(t.requires_grad for t in pytree.tree_leaves(model(PLAIN)))
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(model, (PLAIN,))
    assert caught.value.id == "made-leaf"
    program = dynamo_lite.export(model, (PLAIN,), effects="drop")
    assert any("has requires_grad in eager" in note for note in program.notes)  # type: ignore[attr-defined]
    assert torch.equal(program.module()(PLAIN), model(PLAIN))
