"""Programs with an autograd.Function whose backward is not the derivative of its forward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

LOG: list[int] = []


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin, self.w = nn.Linear(3, 3), nn.Parameter(torch.randn(3))
        self.register_buffer("buffer", torch.ones(3) * 0.5)


class Round(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g


class Step(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float = 2.0) -> Tensor:
        ctx.save_for_backward(x)
        ctx.slope = slope
        return (x > 0).float()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return g / (1 + ctx.slope * x.abs()) ** 2, None


class Exp(Function):
    """Saves its output: a gradient of the gradient goes through the Function again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g * ctx.saved_tensors[0] * 3


class Setup(Function):
    @staticmethod
    def forward(x: Tensor, w: Tensor, n: int = 2) -> Tensor:  # type: ignore[override]
        return x * w * n

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, w, ctx.n = inputs
        ctx.save_for_backward(x, w, output)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, w, out = ctx.saved_tensors
        first = g * w * 5 if ctx.needs_input_grad[0] else None
        return first, (g * x * ctx.n + out).sum(0) if ctx.needs_input_grad[1] else None, None


class Two(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Any:
        ctx.save_for_backward(x, y, x * y)
        return x + y, x * y, x > y

    @staticmethod
    def backward(ctx: Any, a: Tensor, b: Tensor, c: Any) -> Any:
        x, _, product = ctx.saved_tensors
        return a * 2 + b * product, a * 3 + b * x


class Marked(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        values, order = x.sort()
        floor = x.floor()
        ctx.mark_non_differentiable(order, floor)
        ctx.save_for_backward(order)
        return values, order, floor, 5

    @staticmethod
    def backward(ctx: Any, g: Tensor, _: Any, h: Tensor, number: None) -> Any:
        return torch.zeros_like(g).scatter_add(1, ctx.saved_tensors[0], g) + h


class Once(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.size = x.shape
        return x.sum(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> Any:
        return g.expand(ctx.size) * 7


class Dirty(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x.mul_(2))
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g * 11


class Reversed(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return x if scale > 0.4 else x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g.neg() * ctx.scale, None


class Nested(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return Round.apply(x) + Exp.apply(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g * Exp.apply(ctx.x)


class Apart(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        found = [g * n for n, g in ((3, a), (4, b)) if g is not None]
        return sum(found[1:], found[0])


class Same(Function):
    """Autograd knows the tensor by its last place."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        y = x * 2
        return y, y, x.round()

    @staticmethod
    def backward(ctx: Any, a: Tensor, b: Tensor, c: Tensor) -> Any:
        return a + b * 5 + c * 7


class Quantised(Function):
    """As fake quantisation with a learned scale is written."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor, low: int, high: int) -> Tensor:
        q = torch.round(x / scale)
        ctx.save_for_backward((q >= low) & (q <= high), x, scale, q)
        ctx.range = low, high
        return q.clamp(low, high) * scale

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        mask, x, scale, q = ctx.saved_tensors
        return g * mask, ((q.clamp(*ctx.range) - x / scale) * g).sum().reshape(scale.shape), None, None


class Again(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        with torch.enable_grad():
            z = ctx.saved_tensors[0].detach().requires_grad_()
            y = z.sin() * 2
        return torch.autograd.grad(y, z, g)[0]


class Weights(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *weights: Tensor) -> Tensor:
        ctx.save_for_backward(*weights)
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return (g, *[g.sum(0) * w for w in ctx.saved_tensors])


class Cast(Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.round()

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return g * (x @ x.t()).sum()


class Mean(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.n = x.shape[0]
        return x.sum(0)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g.unsqueeze(0).expand(ctx.n, -1) / ctx.n


class Product(Function):
    @staticmethod
    def vjp(ctx: Any, g: Tensor) -> Any:
        return g * 2

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()


class Effect(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        LOG.append(1)
        return g


class OfData(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g * 0 if g.sum() > 100 else g


class Nothing(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()


class Batched(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:  # type: ignore[override]
        return x.round()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g * ctx.saved_tensors[0]


class OwnBatches(Batched):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor) -> Any:
        return OwnBatches.apply(x), in_dims[0]


def _product(parts: Any) -> Any:
    return parts[0].sin() + parts[1] * parts[2]


def _local(self: Any, x: Tensor) -> Tensor:
    class Local(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor) -> Tensor:
            return a.sign()

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            return g * self.w

    return Local.apply(self.lin(x))


def _branch(self: Any, x: Tensor) -> Tensor:
    y = self.lin(x)
    if y.sum() > 0:
        return Round.apply(y) * 2
    return Round.apply(y * 3)


def _spikes(self: Any, x: Tensor) -> Tensor:
    potential, spike = torch.zeros_like(x), torch.zeros_like(x)
    for _ in range(3):
        potential = 0.9 * potential + self.lin(x)
        spike = Step.apply(potential - 1, 5.0)
        potential = potential - spike.detach()
    return potential + spike


def _inner_gradient(self: Any, x: Tensor) -> Tensor:
    (g,) = torch.autograd.grad(Exp.apply(self.lin(x)).sum(), self.lin.weight, create_graph=True)
    return g * 2 + self.w


def _under_autocast(self: Any, x: Tensor) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return Cast.apply(self.lin(x)).float()


PROGRAMS: dict[str, Any] = {
    "ste": lambda self, x: Round.apply(self.lin(x)) * 2,
    "of_an_input": lambda self, x: Round.apply(x) * self.w,
    "weights": lambda self, x: nn.functional.linear(x, Round.apply(self.lin.weight / 0.1) * 0.1, self.lin.bias),
    "step": lambda self, x: Step.apply(self.lin(x)),
    "step_with_a_number": lambda self, x: Step.apply(self.lin(x), 5.0).sum(),
    "double": lambda self, x: Exp.apply(x * self.w).cos(),
    "setup_context": lambda self, x: Setup.apply(x, self.w).sin(),
    "setup_context_of_a_buffer": lambda self, x: Setup.apply(x, self.buffer, 3).sin(),
    "two": lambda self, x: _product(Two.apply(self.lin(x), x)),
    "two_outputs": lambda self, x: Two.apply(self.lin(x), x),
    "one_of_two": lambda self, x: Two.apply(self.lin(x), x)[1],
    "twice_the_same": lambda self, x: _product(Two.apply(x, x)),
    "marked": lambda self, x: Marked.apply(self.lin(x))[:3],
    "dirty": lambda self, x: (lambda h: (Dirty.apply(h), h * 2))(self.lin(x)),
    "reversed": lambda self, x: self.lin(Reversed.apply(self.lin(x), 0.5)),
    "reversed_view": lambda self, x: self.lin(Reversed.apply(self.lin(x), 0.25)),
    "an_argument_returned": lambda self, x: Reversed.apply(self.lin(x), 0.5),
    "nested": lambda self, x: Nested.apply(self.lin(x)),
    "not_materialized": lambda self, x: Apart.apply(self.lin(x)),
    "one_not_materialized": lambda self, x: Apart.apply(self.lin(x))[1],
    "one_tensor_twice": lambda self, x: Same.apply(self.lin(x)),
    "quantised": lambda self, x: nn.functional.linear(
        Quantised.apply(x, self.w.abs().max() / 127, -128, 127),
        Quantised.apply(self.lin.weight, self.lin.weight.abs().max() / 7, -8, 7),
    ),
    "grad_in_the_backward": lambda self, x: Again.apply(self.lin(x)),
    "several_weights": lambda self, x: Weights.apply(self.lin(x), self.w, self.lin.bias),
    "custom_fwd": lambda self, x: Cast.apply(self.lin(x)),
    "autocast": _under_autocast,
    "dynamic_mean": lambda self, x: Mean.apply(self.lin(x)),
    "dynamic_two": lambda self, x: _product(Two.apply(self.lin(x), x)),
    "vjp": lambda self, x: Product.apply(self.lin(x)),
    "changed_in_place": lambda self, x: torch.relu_(Step.apply(self.lin(x)).add_(0.5)) * self.w,
    "local_class": _local,
    "chain": lambda self, x: Round.apply(Exp.apply(Round.apply(self.lin(x)))) + Round.apply(x),
    "branch": _branch,
    "spikes": _spikes,
    "autograd_grad": _inner_gradient,
    "cond": lambda self, x: torch.cond(x.sum() > 0, lambda y: Round.apply(y * self.w), lambda y: y * self.w, (x,)),
    "vmap": lambda self, x: torch.vmap(OwnBatches.apply)(x * self.w),
    "generated_vmap": lambda self, x: torch.vmap(Batched.apply)(x * self.w),
    "vjp_of_it": lambda self, x: torch.func.vjp(Batched.apply, x * self.w)[0] * self.w,
}
DYNAMIC = frozenset({"dynamic_mean", "dynamic_two"})

REFUSED: dict[str, tuple[Any, str]] = {
    "effect": (lambda self, x: Effect.apply(self.lin(x)), "changes LOG"),
    "data": (lambda self, x: OfData.apply(self.lin(x)), "depends on the data"),
    "none": (lambda self, x: Nothing.apply(self.lin(x)), "You must implement"),
}
