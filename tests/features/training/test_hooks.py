"""Hooks on gradients, and around `optimizer.step()`: part of the step, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim

import dynamo_lite

from .harness import Step, compare, mlp, rows
from .test_optimizers import FRESH


def _scaled(gradient: Tensor) -> Tensor:
    return gradient * 2 + 0.1


def _clipped_if_large(gradient: Tensor) -> Tensor:
    if gradient.norm() > 0.05:
        return gradient * 0.1
    return gradient


def _halved(parameter: Tensor) -> None:
    assert parameter.grad is not None
    parameter.grad.mul_(0.5)


ON_PARAMETERS: dict[str, tuple[str, Callable[[Tensor], Any]]] = {
    "another gradient": ("register_hook", _scaled),
    "a branch on data": ("register_hook", _clipped_if_large),
    "nothing": ("register_hook", lambda gradient: None),
    "in place, accumulated": ("register_post_accumulate_grad_hook", _halved),
}


def _with_hooks(name: str) -> Step:
    step, (register, hook) = Step(mlp(), FRESH["adam"]), ON_PARAMETERS[name]
    for parameter in step.net.parameters():
        getattr(parameter, register)(hook)
    return step


@pytest.mark.parametrize("name", ON_PARAMETERS)
def test_hooks_of_parameters(name: str) -> None:
    compare(lambda: _with_hooks(name))


class SeesGradients(Step):
    """Hooks on tensors of the step, which see the gradients in the engine's order; one is removed again."""

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        first, act, last = self.net  # type: ignore[misc]
        seen: list[Tensor] = []
        h = first(x)
        h.register_hook(lambda gradient: seen.append(gradient.norm()))
        y = last(act(h))
        y.register_hook(lambda gradient: seen.append(gradient.sum()))
        y.register_hook(lambda gradient: gradient * 3)
        y.register_hook(lambda gradient: gradient * 100).remove()
        loss = y.pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach(), torch.stack(seen)


def test_hooks_of_tensors_of_the_step() -> None:
    compare(lambda: SeesGradients(mlp(), FRESH["adam"]))


class StepsInBackward(nn.Module):
    """An optimizer for each parameter, whose step is a hook: no gradient is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.net = mlp()
        self.optimizers = {p: optim.SGD([p], lr=0.05, momentum=0.9) for p in self.net.parameters()}
        self.norms: list[Tensor] = []
        for parameter in self.net.parameters():
            parameter.register_post_accumulate_grad_hook(self.update)

    def update(self, parameter: Tensor) -> None:
        others = [p.grad for p in self.net.parameters() if p is not parameter and p.grad is not None]
        assert parameter.grad is not None and not others
        self.norms.append(parameter.grad.norm())
        self.optimizers[parameter].step()  # type: ignore[index]
        self.optimizers[parameter].zero_grad()  # type: ignore[index]

    def forward(self, x: Tensor) -> Any:
        loss = self.net(x).pow(2).mean()
        loss.backward()
        norms = torch.stack(self.norms)
        self.norms.clear()
        return loss.detach(), norms


def test_steps_in_the_backward_come_in_its_order() -> None:
    compare(StepsInBackward)


@pytest.mark.parametrize("register", ["register_step_pre_hook", "register_step_post_hook"])
def test_hooks_around_a_step(register: str) -> None:
    def make() -> Step:
        def clip(optimizer: Any, args: Any, kwargs: Any) -> None:
            for parameter in optimizer.param_groups[0]["params"]:
                parameter.grad.clamp_(-0.01, 0.01)

        step = Step(mlp(), FRESH["adam"])
        getattr(step.optimizer, register)(clip)
        return step

    compare(make)


def test_a_guard_is_on_the_hooks_that_have_run() -> None:
    module = _with_hooks("another gradient")
    trace = dynamo_lite.trace(module, rows(0))
    assert trace.guards.check(module, rows(0)) is None
    handle = module.net[0].weight.register_hook(_scaled)  # type: ignore[index]
    assert trace.guards.check(module, rows(0)) is not None
    handle.remove()
    assert trace.guards.check(module, rows(0)) is None
    module.net[0].weight._backward_hooks.clear()  # type: ignore[index]
    assert trace.guards.check(module, rows(0)) is not None


class OnItsParameter(Step):
    def loss(self, x: Tensor) -> Tensor:
        self.net[0].weight.register_hook(_scaled)  # type: ignore[index]
        return super().loss(x)


class ReturnsItsGraph(Step):
    """A later backward of the loss would run the hook in eager."""

    def forward(self, x: Tensor) -> Any:
        y = self.net(x)
        y.register_hook(_scaled)
        return y.pow(2).mean()


class OfAModule(Step):
    """A hook that returns nothing changes no gradient, and yet is part of a step."""

    def forward(self, x: Tensor) -> Any:
        seen: list[Any] = []

        def note(module: Any, inputs: Any, outputs: Any) -> None:
            seen.append(outputs[0].norm())

        handle = self.net[0].register_full_backward_hook(note)  # type: ignore[index]
        loss = super().forward(x)
        handle.remove()
        return loss, len(seen)


class OfANode(Step):
    def loss(self, x: Tensor) -> Tensor:
        loss = super().loss(x)
        loss.grad_fn.register_hook(lambda inputs, outputs: None)  # type: ignore[union-attr]
        return loss


@pytest.mark.parametrize("kind", [OnItsParameter, ReturnsItsGraph, OfAModule, OfANode])
def test_hooks_that_are_refused(kind: type[Step]) -> None:
    with pytest.raises(dynamo_lite.UnsupportedEffect, match="hook") as caught:
        dynamo_lite.export(kind(mlp()), rows(0))
    assert caught.value.id == "gradient-hook"
    assert "test_hooks.py" in str(caught.value)
