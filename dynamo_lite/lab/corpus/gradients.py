"""Gradients: requires_grad of results, no_grad, detach, custom functions, gradients of inputs and parameters."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from dynamo_lite.lab.programs import Args, Example, program, t


def _graded(program: Any, *args: Any, **options: Any) -> Example:
    return Example(program, args, gradients=True, **options)


@program("the gradient of a small network")
def network() -> Example:
    return _graded(nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2)), t(5, 3))


@program("detach in the middle")
def detached() -> Example:
    return _graded(lambda x: x.sin() * x.sin().detach(), t(3, requires_grad=True))


@program("a part under no_grad")
def no_grad() -> Example:
    def forward(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            scale = x.norm()
        return x / scale, scale

    return _graded(forward, t(3, requires_grad=True))


@program("requires_grad of the input decides")
def requires_grad_decides() -> Example:
    also: list[Args] = [((t(3, requires_grad=True),), {})]
    return _graded(lambda x: x * 2 if x.requires_grad else x * 3, t(3), also=also)


@program("is_grad_enabled decides, and the call is under no_grad")
def grad_mode_decides() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if torch.is_grad_enabled() else x * 3

    return Example(forward, (t(3),), under=torch.no_grad)


@program("a program called under no_grad")
def called_under_no_grad() -> Example:
    return Example(nn.Linear(3, 2), (t(4, 3),), under=torch.no_grad)


@program("enable_grad inside, called under no_grad")
def enabled_inside() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            return x * 2

    return Example(forward, (t(3, requires_grad=True),), under=torch.no_grad)


@program("a function with a backward of its own")
def custom_function() -> Example:
    class Clipped(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
            return grads[0].clamp(-0.5, 0.5)

    return _graded(lambda x: Clipped.apply(x * 2), t(3, requires_grad=True))


@program("a straight-through estimator")
def straight_through() -> Example:
    return _graded(lambda x: x + (x.round() - x).detach(), t(3, requires_grad=True))


@program("a frozen parameter")
def frozen() -> Example:
    layer = nn.Linear(3, 2)
    layer.weight.requires_grad_(False)
    return _graded(layer, t(4, 3))


@program("checkpointing")
def checkpointed() -> Example:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> Any:
            return checkpoint(lambda v: self.layer(v).relu(), x, use_reentrant=False)

    return _graded(Block(), t(4, 3, requires_grad=True))


@program("an in-place operator on an intermediate result")
def in_place() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y[0].mul_(3)
        return y.exp()

    return _graded(forward, t(2, 3, requires_grad=True))


@program("a gradient that forward computes itself")
def gradient_inside() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return torch.func.grad(lambda v: (v**3).sum())(x)

    return Example(forward, (t(3),))


@program("the gradient of a branch on data")
def branch() -> Example:
    also: list[Args] = [((torch.ones(3, requires_grad=True),), {}), (((-torch.ones(3)).requires_grad_(),), {})]
    return _graded(lambda x: x.sin() if x.sum() > 0 else x**2, t(3, requires_grad=True), also=also)


@program("requires_grad_ on a result")
def leaf_made() -> Example:
    return Example(lambda x: (x * 2).detach().requires_grad_(), (t(3),))


@program("a hook on a gradient")
def hook() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return y.sin()

    return _graded(forward, t(3, requires_grad=True))
