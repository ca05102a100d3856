"""Gradients of the program's outputs, compared with eager's"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.export.probe import Case, equal, refused, sound, t


def leaf(*shape: int) -> torch.Tensor:
    return t(*shape, requires_grad=True)


class Two(nn.Module):
    """Two layers; `between` is what happens to the value between them."""

    def __init__(self, between: Callable[[Any], Any] = torch.relu) -> None:
        super().__init__()
        self.first, self.second, self.between = nn.Linear(3, 3), nn.Linear(3, 3), between

    def forward(self, x):
        return self.second(self.between(self.first(x)))


def grad(program: Any, *args: Any) -> Case:
    return Case(program, args or (leaf(2, 3),), gradients=True)


def doubled(module: nn.Module, grad_input: Any, grad_output: Any) -> Any:
    return tuple(None if g is None else g * 2 for g in grad_input)


# ---- hooks of modules


@refused("gradient-hook")
def full_backward_hook():
    model = Two()
    model.first.register_full_backward_hook(doubled)
    return grad(model)


@refused("gradient-hook")
def full_backward_hook_of_the_root():
    model = Two()
    model.register_full_backward_hook(doubled)
    return grad(model)


@equal
def full_backward_hook_that_only_looks():
    seen = []

    def look(module, grad_input, grad_output):
        seen.append(len(grad_output))

    model = Two()
    model.first.register_full_backward_hook(look)
    model.second.register_backward_hook(lambda module, grad_input, grad_output: None)
    model.register_full_backward_pre_hook(lambda module, grad_output: None)
    return grad(model)


@refused("gradient-hook")
def full_backward_hook_that_works_in_place():
    def halve(module, grad_input, grad_output):
        grad_input[0].mul_(0.5)

    model = Two()
    model.first.register_full_backward_hook(halve)
    return grad(model)


@refused("gradient-hook")
def full_backward_pre_hook():
    model = Two()
    model.first.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 3,))
    return grad(model)


@refused("gradient-hook")
def legacy_backward_hook():
    model = Two()
    model.first.register_backward_hook(doubled)
    return grad(model)


@refused("gradient-hook")
def backward_hook_of_a_module_that_is_called_twice():
    model = Two()
    model.second = model.first
    model.first.register_full_backward_hook(doubled)
    return grad(model)


@refused("gradient-hook")
def backward_hook_registered_and_removed_in_forward():
    class M(Two):
        def forward(self, x):
            handle = self.first.register_full_backward_hook(doubled)
            y = super().forward(x)
            handle.remove()
            return y

    return grad(M())


@equal
def backward_hook_under_no_grad():
    class M(Two):
        def forward(self, x):
            with torch.no_grad():
                return super().forward(x)

    model = M()
    model.first.register_full_backward_hook(doubled)
    return grad(model)


@equal
def backward_hook_where_nothing_requires_grad():
    model = Two().requires_grad_(False)
    model.first.register_full_backward_hook(doubled)
    return grad(model, t(2, 3))


@equal
def backward_hook_that_was_removed():
    model = Two()
    model.first.register_full_backward_hook(doubled).remove()
    return grad(model)


# ---- hooks of tensors and nodes


@equal
def hook_on_a_parameter_before_export():
    model = Two()
    model.first.weight.register_hook(lambda g: g * 2)
    return grad(model)


@equal
def accumulating_hook_on_a_parameter_before_export():
    def halve(parameter):
        parameter.grad *= 0.5

    model = Two()
    model.first.weight.register_post_accumulate_grad_hook(halve)
    return grad(model)


@refused("gradient-hook")
def hook_on_a_parameter_in_forward():
    class M(Two):
        def forward(self, x):
            self.first.weight.register_hook(lambda g: g * 2)
            return super().forward(x)

    return grad(M())


def hooked(y):
    if y.requires_grad:
        y.register_hook(lambda g: g * 2)
    return y


@refused("gradient-hook")
def hook_on_a_result():
    return grad(Two(hooked))


@equal
def hook_on_a_result_that_never_requires_grad():
    return grad(Two(hooked).requires_grad_(False), t(2, 3))


@refused("gradient-hook")
def hook_on_a_node():
    def between(y):
        y.grad_fn.register_hook(lambda grad_input, grad_output: grad_input)
        return y

    return grad(Two(between))


@refused("gradient-hook")
def hook_before_a_node():
    def between(y):
        y.grad_fn.register_prehook(lambda grad_output: (grad_output[0] * 2,))
        return y

    return grad(Two(between))


@refused("gradient-hook")
def hook_on_several_gradients():
    def between(y):
        torch.autograd.graph.register_multi_grad_hook((y,), lambda grads: None)
        return y

    return grad(Two(between))


@equal
def retained_gradient_of_a_tensor_that_is_not_returned():
    def between(y):
        y.retain_grad()
        return y

    return grad(Two(between))


# ---- tensors that autograd saves


class Hooks:
    """torch.autograd.graph.saved_tensors_hooks around forward."""

    def __init__(self, unpack: Callable[[Any], Any], trained: bool = True) -> None:
        self.unpack, self.trained = unpack, trained

    def case(self, *args: Any) -> Case:
        unpack = self.unpack

        class M(Two):
            def forward(self, x):
                with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, unpack):
                    return super().forward(x)

        return grad(M().requires_grad_(self.trained), *args)


@refused("gradient-hook")
def saved_tensors_are_changed():
    return Hooks(lambda saved: saved * 2).case()


@equal
def saved_tensors_hooks_with_nothing_to_save():
    return Hooks(lambda saved: saved * 2, trained=False).case(t(2, 3))


@equal
def saved_tensors_hooks_are_over_before_anything_is_saved():
    class M(Two):
        def forward(self, x):
            with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda saved: saved * 2):
                scale = torch.ones(3) * 2
            return super().forward(x) * scale

    return grad(M())


@equal
def saved_tensors_are_kept_on_the_cpu():
    class M(Two):
        def forward(self, x):
            with torch.autograd.graph.save_on_cpu():
                return super().forward(x)

    return grad(M())


# ---- constants


class Holder(nn.Module):
    """`make` computes the constant from the parameter, before the call."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))
        self.kept = make(self.weight)

    def forward(self, x):
        return x * self.kept


@equal
def constant_that_is_a_leaf():
    return grad(Holder(lambda weight: torch.randn(3, requires_grad=True)))


@refused("constant-gradient")
def constant_computed_from_a_parameter():
    return grad(Holder(lambda weight: weight * 2))


@equal
def constant_view_of_a_parameter():
    """It is a view of the parameter in the program as well."""
    return grad(Holder(lambda weight: weight[:1]))


@refused("constant-gradient")
def constant_computed_from_a_parameter_in_a_closure():
    weight = nn.Parameter(torch.randn(3))
    scaled = weight * 2
    return grad(lambda x: x * scaled)


@equal
def constant_computed_under_no_grad():
    return grad(Holder(lambda weight: (weight * 2).detach()))


@equal
def constant_read_detached():
    class M(Holder):
        def forward(self, x):
            return x * self.kept.detach()

    return grad(M(lambda weight: weight * 2))


@equal
def buffer_that_requires_grad():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.randn(3, requires_grad=True))

        def forward(self, x):
            return x * self.scale

    return grad(M())


# ---- checkpoints, detach, regions


@equal
def reentrant_checkpoint_of_what_requires_no_grad():
    """An autograd.Function: its results require grad only if a tensor that it is given does."""

    class M(Two):
        def forward(self, x):
            return checkpoint(self.first, x, use_reentrant=True) + x

    return grad(M(), t(2, 3))


@equal
def reentrant_checkpoint_of_what_requires_grad():
    class M(Two):
        def forward(self, x):
            return self.second(checkpoint(self.first, x, use_reentrant=True))

    return grad(M())


@equal
def checkpoint_that_is_not_reentrant():
    class M(Two):
        def forward(self, x):
            return self.second(checkpoint(self.first, x, use_reentrant=False))

    return grad(M(), t(2, 3))


@equal
def straight_through_by_detach():
    return grad(Two(lambda y: y + (y.round() - y).detach()))


@equal
def reversed_gradient_by_detach():
    return grad(Two(lambda y: 2 * y.detach() - y))


@equal
def part_under_no_grad():
    class M(Two):
        def forward(self, x):
            with torch.no_grad():
                weights = self.first(x).softmax(-1)
            return self.second(self.first(x) * weights)

    return grad(M())


@equal
def gradients_on_inside_of_off():
    class M(Two):
        def forward(self, x):
            with torch.no_grad():
                y = self.first(x)
                with torch.enable_grad():
                    z = self.second(x)
            return y + z

    return grad(M())


@equal
def frozen_part():
    model = Two()
    model.first.requires_grad_(False)
    return grad(model)


@equal
def views_changed_in_place():
    def f(x):
        y = x.clone()
        y[0] = 0
        y[1].mul_(3)
        return y

    return grad(f, leaf(3))


@equal
def parameter_scaled_in_place():
    class M(Two):
        def forward(self, x):
            with torch.no_grad():
                self.first.weight.mul_(0.5)
            return super().forward(x)

    return grad(M())


@equal
def running_statistics():
    return grad(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)), leaf(4, 3))


@equal
def parametrized_weight():
    model = Two()
    nn.utils.parametrizations.weight_norm(model.first)
    return grad(model)


# ---- a Function whose forward is what autograd would differentiate


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * ctx.saved_tensors[0]


@equal
def function_with_autograds_own_backward():
    return grad(Two(Square.apply))


class Round(torch.autograd.Function):
    """Straight through: noted, for its backward is not in the program (see test_gradients.py)."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@equal
def straight_through_function_where_nothing_requires_grad():
    return grad(Two(Round.apply).requires_grad_(False), t(2, 3))


@equal
def straight_through_function_under_no_grad():
    class M(Two):
        def forward(self, x):
            with torch.no_grad():
                return super().forward(x)

    return grad(M(Round.apply))


# ---- questions about flags


@equal
def branch_on_requires_grad_of_an_input():
    return Case(lambda x: x * 2 if x.requires_grad else x * 3, (t(3),), also=[((leaf(3),), {})])


@equal
def branch_on_requires_grad_of_a_result():
    return Case(lambda x: x * 2 if (x + 1).requires_grad else x * 3, (leaf(3),), also=[((t(3),), {})])


@equal
def branch_on_requires_grad_that_a_parameter_decides():
    class M(Two):
        def forward(self, x):
            y = self.first(x)
            return y * 2 if y.requires_grad else y * 3

    return Case(M(), (t(2, 3),), also=[((leaf(2, 3),), {})], gradients=True)


@equal
def input_that_is_no_leaf():
    return Case(lambda x: x + 1 if x.is_leaf else x - 1, (leaf(3) * 2,), also=[((leaf(3),), {})])


@equal
def input_with_a_history():
    return Case(lambda x: x + 1 if x.grad_fn is None else x - 1, (leaf(3) * 2,), also=[((leaf(3),), {})])


@sound("tensor-attribute")
def requires_grad_set_on_an_input():
    return grad(lambda x: x.requires_grad_().sin(), t(3))
