"""Random numbers that sides draw where a gradient flows: those of eager, forward, backward and afterwards."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import dynamo_lite
from tests.control_flow.harness import saved_and_loaded

_INPUTS = (
    torch.ones(3, 2),
    -torch.ones(3, 2),
    torch.tensor([[1.0, -2.0], [3.0, 0.5], [-1.0, 2.0]]),
    torch.ones(3, 2) * 5,
)


class _Drops(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.drop = nn.Linear(2, 2), nn.Dropout(0.5)


class _OnBothSidesOfNestedBranches(_Drops):
    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        if x.sum() > 0:
            if x.max() > 2:
                y = self.drop(y * y)
            else:
                y = y + torch.randn_like(y)
        else:
            y = y * torch.rand(3, 1)
        return y * torch.rand(2)


class _DecidedByWhatWasDrawn(_Drops):
    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        if x.max() > 2:
            y = self.drop(y)
            if y.sum() > 0:
                y = self.drop(y) * 2
            if torch.rand(()) > 0.5:
                y = y + torch.randn(2)
        return y


class _Layers(_Drops):
    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        for _ in range(3):
            if y.sum() > -1:
                y = self.drop(self.layer(y))
        return y


class _Filled(_Drops):
    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        if x.sum() > 0:
            return F.gumbel_softmax(y)
        return F.feature_alpha_dropout(y, 0.5, False)


class _Masked(_Drops):
    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        if x.sum() > 0:
            y = y.clone()
            y[torch.rand(x.shape[0]) > 0.5] = 0
        return y


_MODULES = [_OnBothSidesOfNestedBranches, _DecidedByWhatWasDrawn, _Layers, _Filled, _Masked]


def _run(module: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    torch.manual_seed(3)
    given = x.clone().requires_grad_()
    result = module(given)
    weights = [given, *(p for _, p in sorted(module.named_parameters()))]
    found = torch.autograd.grad(result.sum(), weights, allow_unused=True)
    gradients = [torch.zeros_like(w) if g is None else g for g, w in zip(found, weights)]
    return [result.detach(), *gradients, torch.rand(2)]


def _made(ep: torch.export.ExportedProgram, through: str) -> nn.Module:
    if through == "decompositions":
        return copy.deepcopy(ep).run_decompositions().module()
    return (saved_and_loaded(ep) if through == "load" else ep).module()


@pytest.mark.parametrize("kind", _MODULES)
def test_the_numbers_are_those_of_eager(kind: type[nn.Module]) -> None:
    module = kind()
    ep = dynamo_lite.export(module, (_INPUTS[0].clone().requires_grad_(),))
    for through in ("", "load", "decompositions"):
        made = _made(ep, through)
        for x in _INPUTS:
            torch.testing.assert_close(_run(made, x), _run(module, x))


def test_a_dynamic_number_of_rows() -> None:
    module = _Masked()
    example = (torch.ones(4, 2).requires_grad_(),)
    ep = dynamo_lite.export(module, example, dynamic_shapes=({0: torch.export.Dim("n")},))
    made = ep.module()
    for rows in (3, 5, 9):
        for x in (torch.ones(rows, 2), -torch.ones(rows, 2)):
            torch.testing.assert_close(_run(made, x), _run(module, x))


class _OfAnInput(_Drops):
    def forward(self, x: Any) -> Any:
        return self.drop(x) if x.sum() > 0 else x * torch.rand_like(x)


class _FillsLikeAnInput(_Drops):
    def forward(self, x: Any) -> Any:
        return x * torch.empty_like(x).uniform_() if x.sum() > 0 else x * 2


class _OfALayer(_Drops):
    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        return self.drop(y) if x.sum() > 0 else y * torch.rand_like(y)


def test_inputs_that_lie_otherwise() -> None:
    """Numbers are drawn in the memory order of the operand: that of the input, or of a result of a layer."""
    x = torch.tensor([[1.0, 2.0], [3.0, -4.0]])
    turned = x.t().contiguous().t()
    for module in (_OfAnInput(), _FillsLikeAnInput(), _OfALayer()):
        made = dynamo_lite.export(module, (x.clone().requires_grad_(),)).module()
        for given in (x, -x, turned, -turned):
            if given.is_contiguous() or isinstance(module, _OfALayer):
                torch.testing.assert_close(_run(made, given), _run(module, given))
            else:
                with pytest.raises(AssertionError, match="is_contiguous"):
                    made(given)


@pytest.mark.parametrize("inner", [None, 2])
def test_numbers_that_nothing_uses_are_drawn(inner: int | None) -> None:
    """What is drawn behind the branch is eager's only if the side has drawn before."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:  # noqa: SIM102
            if inner is None or x.max() > inner:
                torch.rand(3)
        return torch.rand(2)

    program = dynamo_lite.export(fn, (torch.ones(2),))
    for run in (program.module(), saved_and_loaded(program).module()):  # run_decompositions() drops the operator
        for x in (torch.ones(2), torch.ones(2) * 3, -torch.ones(2)):
            with torch.random.fork_rng():
                want, got = [(torch.manual_seed(0), f(x))[1] for f in (fn, run)]
            assert torch.equal(want, got)
