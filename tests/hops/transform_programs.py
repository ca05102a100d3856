"""Programs with torch.func transforms, torch.autograd.grad and custom autograd Functions."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

from tests.hops.cond_programs import Base, X
from tests.hops.harness import Program


class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return g * 5 * x.sign()  # not the derivative: to tell it from the operators' own


class OldStyle(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, k: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.k = k
        return x.sin() * k

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.cos() * ctx.k, None


def _loss(module: nn.Module) -> Any:
    return lambda params, x: functional_call(module, params, (x,)).tanh().pow(2).mean()


def _parameters(module: nn.Module) -> dict[str, torch.Tensor]:
    return dict(module.named_parameters())


def _vjp(self: Base, x: torch.Tensor) -> Any:
    out, pull = vjp(lambda u: torch.sigmoid(self.linear(u)).exp(), x)
    return out, pull(out * 2)


def _leaf(x: torch.Tensor) -> torch.Tensor:
    return x.detach().requires_grad_()


def _second(self: Base, x: torch.Tensor) -> Any:
    x = _leaf(x)
    (first,) = torch.autograd.grad(torch.tanh(self.linear(x)).sum(), [x], create_graph=True)
    return torch.autograd.grad(first.pow(2).sum(), [x])[0]


def _penalty(self: Base, x: torch.Tensor) -> Any:
    y = self.linear(x).sigmoid()
    (g,) = torch.autograd.grad(y.softmax(-1).log().sum(), [y], create_graph=True)
    return y + g.norm()


def _grad_of_vmap(self: Base, x: torch.Tensor) -> Any:
    return grad(lambda w: vmap(lambda row: nn.functional.linear(row, w).sigmoid())(x).sum())(self.linear.weight)


def _no_grad_inside(self: Base, x: torch.Tensor) -> Any:
    def f(u: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            scale = u.sum()
        return (self.linear(u) * scale).sum()

    return grad(f)(x)


def _indexed(self: Base, x: torch.Tensor) -> Any:
    def f(row: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(row)
        out = out.index_put((torch.tensor([0, 2]),), row[:2])
        return torch.where(row > 0, out, row.flip(0)).cumsum(0)

    return vmap(f)(x)


def _mutates_inside(self: Base, x: torch.Tensor) -> Any:
    def f(row: torch.Tensor) -> torch.Tensor:
        y = row.clone()
        y.add_(1).mul_(2)
        y[0] = 3
        return y

    return vmap(f)(x)


FORWARDS: dict[str, Any] = {
    "vmap": lambda self, x: vmap(lambda row: self.linear(row) * 2 + self.scale)(x),
    "vmap_dims": lambda self, x: vmap(lambda a, b: a @ b, in_dims=(1, None), out_dims=0)(x, self.scale),
    "vmap_nested": lambda self, x: vmap(lambda a: vmap(lambda b: a * b + 1)(self.scale))(x[0]),
    "vmap_tree": lambda self, x: vmap(lambda d: {"s": d["a"].sum() + d["b"], "m": d["a"].max()})(
        {"a": x, "b": x[:, 0]}
    ),
    "vmap_norm": lambda self, x: vmap(lambda row: nn.functional.layer_norm(row, (3,), self.scale))(x),
    "vmap_index": _indexed,
    "vmap_mutates": _mutates_inside,
    "vmap_chunks": lambda self, x: vmap(lambda row: row.sin() * 3, chunk_size=2)(x),
    "grad": lambda self, x: grad(lambda u: self.linear(u).sin().sum())(x),
    "grad_value": lambda self, x: grad_and_value(lambda u: (self.linear(u) ** 2).sum())(x),
    "grad_aux": lambda self, x: grad(lambda u: ((u * 3).sum(), u.exp()), has_aux=True)(x),
    "grad_twice": lambda self, x: grad(grad(lambda u: (u**3).sum()))(x[0, 0]),
    "grad_parameters": lambda self, x: grad(_loss(self.linear))(_parameters(self.linear), x),
    "grad_no_grad": _no_grad_inside,
    "grad_of_vmap": _grad_of_vmap,
    "per_sample": lambda self, x: vmap(grad(_loss(self.linear)), in_dims=(None, 0))(_parameters(self.linear), x),
    "vjp": _vjp,
    "jvp": lambda self, x: jvp(lambda u: self.linear(u).softmax(-1), (x,), (x * 2,)),
    "jacrev": lambda self, x: jacrev(lambda u: self.linear(u).sin())(x),
    "jacfwd": lambda self, x: jacfwd(lambda u: self.linear(u).tanh())(x[0]),
    "hessian": lambda self, x: hessian(lambda u: self.linear(u).sin().sum())(x[0]),
    "functional_call": lambda self, x: functional_call(self.linear, {"weight": x, "bias": self.scale}, (x,)),
    "custom_vmap": lambda self, x: vmap(lambda row: Square.apply(self.linear(row)))(x),
    "custom_grad": lambda self, x: grad(lambda u: Square.apply(u * 3).sum())(x),
    "custom_autograd": lambda self, x: torch.autograd.grad(Square.apply((y := _leaf(x)) * 3).sum(), [y]),
    "custom_old": lambda self, x: torch.autograd.grad(OldStyle.apply((y := _leaf(x)), 3.0).sum(), [y]),
    "autograd_input": lambda self, x: torch.autograd.grad(self.linear(y := _leaf(x)).sigmoid().exp().sum(), [y])[0] + 1,
    "autograd_parameter": lambda self, x: torch.autograd.grad(self.linear(x).sin().sum(), [*self.linear.parameters()]),
    "autograd_second": _second,
    "autograd_penalty": _penalty,
    "autograd_outputs": lambda self, x: torch.autograd.grad(self.linear(y := _leaf(x)) ** 2, [y], grad_outputs=x * 2),
    "autograd_jacobian": lambda self, x: torch.autograd.functional.jacobian(lambda u: (u * u).tanh().sum(0), x),
    "function": lambda self, x: OldStyle.apply(self.linear(x), 2.0),
    "function_no_grad": torch.no_grad()(lambda self, x: OldStyle.apply(self.linear(x), 2.0) + 1),
}

# Torch's own lowering is slow, and sees ATen operators like any other program's: tried on a few.
LOWERED = frozenset({"per_sample", "grad_no_grad", "jvp", "custom_vmap", "autograd_input", "vmap_mutates"})

# What the gradients of the program itself are compared for (an outer derivative through the transform).
DIFFERENTIATED = frozenset(
    {
        *("vmap", "vmap_nested", "vmap_mutates", "grad", "grad_value", "grad_twice", "grad_no_grad", "vjp", "jvp"),
        *("jacrev", "jacfwd", "hessian", "functional_call", "autograd_parameter", "autograd_penalty", "function"),
        *("function_no_grad", "custom_vmap", "custom_grad"),
    }
)


def _program(name: str) -> Program:
    make = type(name, (Base,), {"forward": FORWARDS[name]})
    return Program(
        name,
        make,
        [(X,), (X * -2 + 0.5,)],
        lowers=name in LOWERED,
        saves=name in LOWERED,
        gradients=name in DIFFERENTIATED,
    )


PROGRAMS = [_program(name) for name in FORWARDS]
