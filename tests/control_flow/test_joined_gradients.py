"""Gradients and errors of what branches leave: tensors under several names, sorted ones, replaced objects."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from tests.control_flow.harness import saved_and_loaded

_INPUTS = (
    torch.ones(3, 2),
    -torch.ones(3, 2),
    torch.tensor([[1.0, -2.0], [3.0, 0.5], [-1.0, 2.0]]),
    torch.ones(3, 2) * 5,
)


class _Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([[0.6, -0.3], [0.2, 0.8]]))
        self.b = nn.Parameter(torch.tensor([0.1, -0.2]))


class _ChosenByTwo(_Linear):
    def forward(self, x: Any) -> Any:
        a, b = x @ self.w, x * self.b
        if x.sum() > 0:
            c = a if x.max() > 2 else b
        else:
            c = x * 3 @ self.w
        c.mul_(2)
        a.add_(1)
        return a.sum() + b.sum() * 2 + c.tanh().sum()


class _NewUnderTwoNames(_Linear):
    def forward(self, x: Any) -> Any:
        a, b = x @ self.w, x * self.b
        if x.sum() > 0:
            a = b = x.sin() * self.b
        b.mul_(a.detach().sum())
        return a.sum() + b.tanh().sum()


class _Sorted(_Linear):
    def forward(self, x: Any) -> Any:
        rows = sorted((x @ self.w).unbind(0), key=lambda row: (row * self.b).sum())
        return (rows[0] - rows[2] * rows[1]).sum()


class _Replaced(_Linear):
    def forward(self, x: Any) -> Any:
        box = {"h": x @ self.w}
        if x.sum() > 0:
            box = {"h": x * self.b}
        box["h"] = box["h"].tanh()
        return box["h"].sum()


def _gradients(module: nn.Module, x: torch.Tensor) -> list[torch.Tensor | None]:
    given = x.clone().requires_grad_()
    result = module(given)
    weights = [given, *(p for _, p in sorted(module.named_parameters()))]
    return [result, *torch.autograd.grad(result, weights, allow_unused=True)]


@pytest.mark.parametrize("kind", [_ChosenByTwo, _NewUnderTwoNames, _Sorted, _Replaced])
@pytest.mark.parametrize("loaded", [False, True])
def test_gradients_are_those_of_eager(kind: type[nn.Module], loaded: bool) -> None:
    module = kind()
    ep = dynamo_lite.export(module, (_INPUTS[0].clone().requires_grad_(),))
    made = (saved_and_loaded(ep) if loaded else ep).module()
    for x in _INPUTS:
        ours, eager = _gradients(made, x), _gradients(copy.deepcopy(module), x)
        for one, other in zip(ours, eager):
            if one is None or other is None:  # torch.cond of a loaded program gives zeros for None
                assert all(g is None or not g.any() for g in (one, other)) and (loaded or one is other)
            else:
                torch.testing.assert_close(one, other)


class _KeepsABuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", torch.zeros(3, 2))

    def forward(self, x: Any) -> Any:
        y = x * 2
        if x.sum() > 0:
            y = self.kept if x.max() > 2 else x
        y.add_(1)
        return y + 0


def test_the_buffer_or_the_input_is_changed() -> None:
    module = _KeepsABuffer()
    made = dynamo_lite.export(copy.deepcopy(module), (_INPUTS[0].clone(),)).module()
    for x in (*_INPUTS, *_INPUTS):  # one state goes on from call to call
        ours, eager = x.clone(), x.clone()
        assert torch.equal(made(ours), module(eager))
        assert torch.equal(ours, eager) and torch.equal(made.kept, module.kept)


def test_a_key_that_is_nan_is_an_error() -> None:
    class Module(nn.Module):
        def forward(self, x: Any) -> Any:
            return sorted(x.unbind(0), key=lambda row: row.sum())[0]

    made = dynamo_lite.export(Module(), (_INPUTS[2],)).module()
    assert torch.equal(made(_INPUTS[2]), Module()(_INPUTS[2]))
    with pytest.raises(RuntimeError, match="nan"):
        made(torch.full((3, 2), float("nan")))


def test_no_flags_without_a_change_in_place() -> None:
    class Module(nn.Module):
        def forward(self, x: Any) -> Any:
            a, b = x * 1, x * 2
            c = (a if x.max() > 2 else b) if x.sum() > 0 else x * 3
            return a, b, c + 1

    ep = dynamo_lite.export(Module(), (_INPUTS[0],))
    (cond,) = [node for node in ep.graph.nodes if str(node.target) == "cond"]
    assert len(cond.meta["val"]) == 1
