"""torch.autograd.forward_ad in forward: primals and tangents equal eager's, arguments and gradients as well."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad
from torch.export import Dim

import dynamo_lite
from dynamo_lite.torch_internals._torch_functorch import maybe_current_level


class Module(nn.Module):
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn
        self.linear, self.norm, self.conv = nn.Linear(6, 3), nn.LayerNorm(6), nn.Conv1d(1, 2, 3)
        self.batch = nn.BatchNorm1d(6)
        self.batch.eval()

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> Any:
        return self.fn(self, x, t)


def within(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A program that returns primal and tangent of `fn` of a dual number."""

    def program(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
        with forward_ad.dual_level():
            primal, tangent = forward_ad.unpack_dual(fn(self, forward_ad.make_dual(x, t)))
            return primal, tangent

    return program


def by_hand(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    forward_ad.enter_dual_level()
    try:
        parts = forward_ad.unpack_dual(forward_ad.make_dual(x, t).exp())
    finally:
        forward_ad.exit_dual_level()
    return parts.primal + 1, parts.tangent


def of_a_parameter(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    with forward_ad.dual_level():
        weight = forward_ad.make_dual(self.linear.weight, torch.ones_like(self.linear.weight))
        return forward_ad.unpack_dual(F.linear(x, weight, self.linear.bias)).tangent


def changed_in_place(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x.clone(), t)
        d.mul_(2)  # the tangent is the argument itself
        other = torch.zeros_like(x)
        other.add_(d)
        return forward_ad.unpack_dual(d).tangent, forward_ad.unpack_dual(other).tangent


def after_the_level(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, t)
        highest, where = d.max(1)
    return d * 3, highest, where, forward_ad.unpack_dual(d).tangent is None


def without_a_tangent(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, t)
        return forward_ad.unpack_dual(x * 2).tangent is None, forward_ad.unpack_dual(d.detach()).tangent is None


def two_levels_in_a_row(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    found = []
    for factor in (1, 2):
        with forward_ad.dual_level():
            found.append(forward_ad.unpack_dual(forward_ad.make_dual(x, t * factor).sin()).tangent)
    return found


def left_by_an_error(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    try:
        with forward_ad.dual_level():
            raise KeyError(forward_ad.make_dual(x, t).ndim)
    except KeyError:
        return x.sin()


def beside_transforms(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, t)
        gradient = torch.func.grad(lambda v: (v.sin() * v).sum())(x)
        return gradient, forward_ad.unpack_dual(torch.vmap(torch.sin)(d)).tangent


PROGRAMS = {
    "linear": within(lambda self, d: self.linear(d).tanh()),
    "layers": within(lambda self, d: self.conv(self.norm(self.batch(d)).unsqueeze(1)).relu()),
    "sizes": within(lambda self, d: d.reshape(d.shape[0] * 2, 3).softmax(-1) * d.shape[0]),
    "choices": within(lambda self, d: torch.where(d > 0, d, d * 0.1) + torch.cat([d, d.cos()])[: d.shape[0]]),
    **{f.__name__: f for f in (by_hand, of_a_parameter, changed_in_place, after_the_level, without_a_tangent)},
    **{f.__name__: f for f in (two_levels_in_a_row, left_by_an_error, beside_transforms)},
}
ANY_SIZE = ("linear", "sizes", "by_hand", "changed_in_place", "after_the_level", "two_levels_in_a_row")


def call(module: Any, args: tuple[torch.Tensor, ...]) -> list[Any]:
    """Results, the arguments afterwards, and the gradients of the parameters."""
    args = copy.deepcopy(args)
    results = module(*args)
    flat = [results] if isinstance(results, torch.Tensor) else list(results)
    total = sum(r.sum() for r in flat if isinstance(r, torch.Tensor) and r.requires_grad)
    parameters = [p for _, p in sorted(module.named_parameters())]
    taken = isinstance(total, torch.Tensor)
    gradients = torch.autograd.grad(total, parameters, allow_unused=True) if taken else ()
    return [*flat, *args, *gradients]


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_eager(name: str) -> None:
    torch.manual_seed(0)
    model, example = Module(PROGRAMS[name]), (torch.randn(4, 6), torch.randn(4, 6))
    sizes = {"x": {0: Dim("n")}, "t": {0: Dim("n")}} if name in ANY_SIZE else None
    program = dynamo_lite.export(model, example, dynamic_shapes=sizes)
    assert forward_ad._current_level == -1 and maybe_current_level() is None
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    modules = [program.module(), torch.export.load(file).module()]
    if sizes is None:
        modules.append(program.run_decompositions().module())
    for rows in (4, 7 if sizes else 4):
        args = torch.randn(rows, 6), torch.randn(rows, 6)
        expected = call(model, args)
        for module in modules:
            torch.testing.assert_close(call(module, args), expected)


def left_open(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    forward_ad.enter_dual_level()
    return forward_ad.make_dual(x, t).sin()


class WithoutSetup(torch.autograd.Function):
    """Its jvp is eager's; functorch wants a setup_context."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    @staticmethod
    def jvp(ctx: Any, t: torch.Tensor) -> torch.Tensor:
        return t * 7


def catches_what_functorch_raises(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, t)
        try:
            d = WithoutSetup.apply(d)
        except RuntimeError:
            d = d * 100
        return forward_ad.unpack_dual(d).tangent


def changes_its_primal(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x.clone(), t)
        try:
            forward_ad.unpack_dual(d).primal.mul_(2)
        except RuntimeError:
            return x
        return forward_ad.unpack_dual(d).primal


def two_levels(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    with forward_ad.dual_level(), forward_ad.dual_level():
        return x


def within_a_transform(self: Any, x: torch.Tensor, t: torch.Tensor) -> Any:
    return torch.vmap(lambda a, b: within(lambda self, d: d.sin())(self, a, b))(x, t)


@pytest.mark.parametrize(
    ("fn", "id"),
    [
        (left_open, "process-state"),
        (catches_what_functorch_raises, "higher-order-operator"),
        (changes_its_primal, "higher-order-operator"),
        (two_levels, "higher-order-operator"),
        (within_a_transform, "higher-order-operator"),
        (within(lambda self, d: d.sin() if d.sum() > 0 else d), "data-dependent-branch"),
    ],
)
def test_is_refused_and_leaves_no_level(fn: Callable[..., Any], id: str) -> None:
    with pytest.raises(dynamo_lite.errors.GraphBreak, match=rf"\[{id}\]"):
        dynamo_lite.export(Module(fn), (torch.randn(4, 6), torch.randn(4, 6)))
    assert forward_ad._current_level == -1 and maybe_current_level() is None


def test_without_the_interpreter_they_are_refused() -> None:
    with pytest.raises(dynamo_lite.errors.GraphBreak, match="with strict=False is not captured"):
        dynamo_lite.export(Module(PROGRAMS["linear"]), (torch.randn(4, 6), torch.randn(4, 6)), strict=False)
    assert forward_ad._current_level == -1 and maybe_current_level() is None


def test_jvp_of_a_norm_with_constant_parameters() -> None:
    """A view of a tangent that is zero everywhere, as layer_norm's formula makes it of the weight's."""
    model = Module(lambda self, x, t: torch.func.jvp(lambda v: self.norm(self.batch(v)), (x,), (t,)))
    args = torch.randn(4, 6), torch.randn(4, 6)
    torch.testing.assert_close(dynamo_lite.export(model, args).module()(*args), model(*args))
