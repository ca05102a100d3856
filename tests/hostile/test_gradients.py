"""Gradients: what probes (programs/gradients.py) do not show."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak, InputMismatch, UnsupportedValue
from dynamo_lite.lab.observe import difference, observe
from tests.export.verdict import ours

from .programs.gradients import Holder, Round, Two, leaf


def _difference(program: Any, model: Any, x: torch.Tensor) -> str | None:
    want = observe(model, ((x,), {}), 0, gradients=True)
    return difference(observe(program, ((x,), {}), 0, gradients=True), want, {})


def test_a_gradient_of_a_function_is_compared() -> None:
    """The comparison sees gradients: that of a straight-through Function is eager's, and not that of `round`."""
    torch.manual_seed(0)
    model = Two(Round.apply)
    assert _difference(ours(model, (leaf(2, 3),), {}), model, leaf(2, 3)) is None
    text = _difference(ours(Two(torch.round), (leaf(2, 3),), {}), model, leaf(2, 3))
    assert text is not None and text.startswith("the gradient of input 0")


def test_a_lost_gradient_of_a_constant_can_be_let_go() -> None:
    model = Holder(lambda weight: weight * 2)
    with pytest.raises(GraphBreak, match="constant-gradient"):
        dynamo_lite.export(model, (torch.randn(3),))
    program = dynamo_lite.export(model, (torch.randn(3),), effects="drop").module()
    assert not program(torch.randn(3)).requires_grad


@pytest.mark.parametrize("flag", [True, False])
def test_a_branch_on_requires_grad_is_guarded(flag: bool) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.requires_grad else x * 3

    program = dynamo_lite.export(f, (torch.randn(3).requires_grad_(flag),)).module()
    with pytest.raises(Exception, match=f"requires_grad is {flag}"):
        program(torch.randn(3).requires_grad_(not flag))


def test_a_question_that_a_parameter_decides_is_not_guarded() -> None:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.linear(x)
            return y * 2 if y.requires_grad else y

    program = dynamo_lite.export(M(), (torch.randn(2, 3),)).module()
    program(leaf(2, 3))


def test_an_output_that_does_not_retain_its_gradient_is_noted() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y.retain_grad()
        return y

    trace = dynamo_lite.trace(f, (leaf(3),))
    assert any("output 0 retains its gradient in eager" in note for note in trace.notes)


def test_a_hook_of_a_module_is_named() -> None:
    model = Two()
    model.first.register_full_backward_hook(lambda module, grad_input, grad_output: grad_input)
    with pytest.raises(GraphBreak, match="a backward hook of the module 'first'"):
        dynamo_lite.export(model, (torch.randn(2, 3),))


def test_without_gradients_a_hook_does_not_matter() -> None:
    model = Two()
    model.first.register_full_backward_hook(lambda module, grad_input, grad_output: grad_input)
    with torch.no_grad():
        program = dynamo_lite.export(model, (torch.randn(2, 3),)).module()
        x = torch.randn(2, 3)
        assert torch.equal(program(x), model(x))


def test_a_leaf_that_a_constructor_has_made_is_refused_at_its_line() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return torch.ones(3, requires_grad=True)

    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(forward, (torch.ones(3),))
    assert caught.value.id == "made-leaf"
    assert "torch.ones(3, requires_grad=True)" in str(caught.value)


def test_a_module_as_an_argument_is_told_where_it_belongs() -> None:
    def forward(x: torch.Tensor, part: nn.Module) -> torch.Tensor:
        return part(x)

    with pytest.raises(UnsupportedValue, match=r"self\.part = part"):
        dynamo_lite.export(forward, (torch.ones(2, 4), nn.BatchNorm1d(4)))


class _Slope(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        (gradient,) = torch.autograd.grad((x * x).sum(), x)
        return x + gradient


class _Backward(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor | None:
        (x * x).sum().backward()
        gradient, x.grad = x.grad, None
        return gradient


def _hooked(by: str) -> torch.Tensor:
    x = leaf(3)
    if by == "hook":
        x.register_hook(lambda gradient: gradient * 5)
    else:
        x.register_post_accumulate_grad_hook(lambda tensor: None)
    return x


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize(
    ("module", "by"), [(_Slope(), "hook"), (_Backward(), "hook"), (_Backward(), "post accumulate hook")]
)
def test_a_hook_of_a_later_argument_is_not_left_out(module: nn.Module, by: str, saved: bool) -> None:
    """The program computed the gradient without the hook, where eager runs it."""
    program: Any = dynamo_lite.export(module, (leaf(3),))
    if saved:
        file = io.BytesIO()
        dynamo_lite.save(program, file)
        file.seek(0)
        program = dynamo_lite.load(file)
    x = leaf(3)
    torch.testing.assert_close(program.module()(x), module(x))
    with pytest.raises(InputMismatch, match="Input x has a hook on its gradient"):
        program.module()(_hooked(by))
    without = _hooked(by).detach().requires_grad_()
    torch.testing.assert_close(program.module()(without), module(without))


def test_a_hook_that_the_call_does_not_run_is_no_matter() -> None:
    """`autograd.grad` runs the hooks of the tensors that it is asked for, and those of what is in between."""

    class Weight(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            (gradient,) = torch.autograd.grad((x * self.weight).sum(), self.weight)
            return gradient

    module = Weight()
    program: Any = dynamo_lite.export(module, (leaf(3),))
    x = _hooked("hook")
    torch.testing.assert_close(program.module()(x), module(x))
