"""Programs with torch.cond: what a branch may read, take and return."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn
from torch.export import Dim

from tests.hops.harness import Program

X = torch.linspace(-1, 2, 9).reshape(3, 3)
BOTH = [(X,), (-X - 1,)]
"""The sum of the first is positive, that of the second is not."""
TABLE = torch.arange(3.0)


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0]))
        self.offset = 2


class Simple(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda u: u.sin(), lambda u: u.cos() - 1, (x,))


class NoOperands(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return torch.cond(x.sum() > 0, lambda: y + x, lambda: y - x)


class State(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda u: self.linear(u) * self.scale, lambda u: u @ self.linear.weight, (x,))


class Globals(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda u: u + TABLE, lambda u: u * self.offset, (x,))


class Modules(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, self.linear, nn.Identity().forward if False else self.other, (x,))

    def other(self, x: torch.Tensor) -> torch.Tensor:
        return x.relu() + self.scale


class Trees(Base):
    def forward(self, x: torch.Tensor, y: dict[str, torch.Tensor]) -> Any:
        def true(u: torch.Tensor, v: dict[str, torch.Tensor]) -> Any:
            return {"sum": u + v["a"], "more": (v["b"][0] * 2, [u.exp()])}

        def false(u: torch.Tensor, v: dict[str, torch.Tensor]) -> Any:
            return {"sum": u - v["a"], "more": (v["b"][0] * 3, [u.abs()])}

        return torch.cond(x.sum() > 0, true, false, (x, y))


class Nested(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.tanh()

        def inner(u: torch.Tensor) -> torch.Tensor:
            return torch.cond(u.max() > 1, lambda w: self.linear(w) + y, lambda w: w * y, (u,))

        return torch.cond(x.sum() > 0, inner, lambda u: u - y, (x,))


class Twice(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.cond(x.sum() > 0, self.linear, lambda u: u * 2, (x,))
        return a + torch.cond(a.sum() > 0, self.linear, lambda u: u * 3, (a,))


class InplaceInside(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def true(u: torch.Tensor) -> torch.Tensor:
            v = u.clone()
            v.add_(1)
            v[0] = 7
            return v

        return torch.cond(x.sum() > 0, true, lambda u: u.clone().zero_(), (x,))


class Literals(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda u: u + torch.tensor([1.0, 2, 3]), lambda u: u * torch.ones(3), (x,))


class NoGradInside(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def true(u: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                scale = self.linear(u).sum()
            return u * scale

        return torch.cond(x.sum() > 0, true, lambda u: u * 2, (x,))


class NoGradAround(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            y = x * 2
            z = torch.cond(y.sum() > 0, self.linear, lambda u: u * 2, (y,))
        return z + x


class AutocastInside(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def true(u: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                return self.linear(u).float()

        return torch.cond(x.sum() > 0, true, lambda u: u * 2, (x,))


class LocalState(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def true(u: torch.Tensor) -> torch.Tensor:
            parts = [u]
            for i in range(3):
                parts.append(parts[-1] * i + 1)
            table = {"n": 0}
            table["n"] += len(parts)
            return sum(parts) * table["n"]

        return torch.cond(x.sum() > 0, true, lambda u: u / 2, (x,))


class Constant(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(self.offset > 1, lambda u: u + 1, lambda u: u - 1, (x,))


class Constants(Base):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda u: (u + 1, 3), lambda u: (u - 1, 3), (x,))


class Sizes(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda u: u.new_ones(2, 3), lambda u: u.new_zeros(4, 3), (x,)) + 1


class Numbers(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, n = torch.cond(x.sum() > 0, lambda u: (u + 1, 3), lambda u: (u * 2, 4), (x,))
        return y * n


class TensorPredicate(Base):
    def forward(self, x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        return torch.cond(p, lambda u: u + 1, lambda u: u - 1, (x,))


class Decorated(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        @torch.no_grad()
        def true(u: torch.Tensor) -> torch.Tensor:
            return u + 1

        return torch.cond(x.sum() > 0, true, lambda u: u - 1, (x,)) + x


class Inference(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            y = x.clone()
            z = torch.cond(x.sum() > 0, lambda u: u.add_(1) + 1, lambda u: u * 2, (y,))
            return y + z


class Dropout(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.norm = nn.LayerNorm(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda u: self.norm(self.drop(u)), lambda u: self.drop(u), (x,))


class SizePredicate(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.shape[0] > 4, lambda u: u + 1, lambda u: u * x.shape[0], (x,))


class SizesClosedOver(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0] * 2 + 1
        return (
            torch.cond(
                x.sum() > 0, lambda u: u * n + self.scale, lambda u: u.reshape(-1)[: u.numel()].view(-1, 3) * 2, (x,)
            )
            + n
        )


class VmapInside(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda u: torch.vmap(self.linear)(u), lambda u: u - 1, (x,))


class GradInside(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gradient = torch.func.grad(lambda v: self.linear(v).pow(2).sum())
        return torch.cond(x.sum() > 0, gradient, lambda u: u - 1, (x,))


class Unbacked(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = (x > 0).sum().item()

        def true(u: torch.Tensor) -> torch.Tensor:
            return u[u > 0].sum() + u * (u > 1).sum().item() + n

        return torch.cond(x.sum() > 0, true, lambda u: u * n, (x,))


class SharedMemory(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda a, b: a + b + x[2], lambda a, b: a * b, (x[0], x[1]))


class Callables(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.cond(x.sum() > 0, functools.partial(torch.mul, x), torch.cos, (x,))
        return torch.cond(y.sum() > 0, nn.Sequential(nn.ReLU(), self.linear), self.linear.forward, (y,))


class InALoop(Base):
    def forward(self, x: torch.Tensor) -> Any:
        nothing = None
        for i in range(3):
            x, nothing = torch.cond(x.sum() > i, lambda v: (v + 1, None), lambda v: (v * 2, None), (x,))
        return x, nothing


PROGRAMS = [
    Program("simple", Simple, BOTH, gradients=True),
    Program("no_operands", NoOperands, BOTH, lowers=False),
    Program("state", State, BOTH, parity=True, gradients=True),
    Program("globals", Globals, BOTH, parity=True, lowers=False),
    Program("modules", Modules, BOTH, lowers=False),
    Program("trees", Trees, [(x, {"a": X + 1, "b": (X * 2,)}) for (x,) in BOTH], parity=True),
    Program("nested", Nested, [*BOTH, (X + 9,)], parity=True, gradients=True),
    Program("twice", Twice, BOTH, lowers=False),
    Program("inplace_inside", InplaceInside, BOTH),
    Program("literals", Literals, BOTH, lowers=False),
    Program("no_grad_inside", NoGradInside, BOTH, parity=True, gradients=True),
    Program("no_grad_around", NoGradAround, BOTH, gradients=True),
    Program("autocast_inside", AutocastInside, BOTH),
    Program("local_state", LocalState, BOTH),
    Program("constant", Constant, BOTH, lowers=False),
    Program("constants", Constants, BOTH, parity=True, lowers=False),
    Program("sizes", Sizes, BOTH, parity=True),
    Program("numbers", Numbers, BOTH, parity=True),
    Program("tensor_predicate", TensorPredicate, [(X, torch.tensor(True)), (X, torch.tensor(False))], lowers=False),
    Program("decorated", Decorated, BOTH, lowers=False),
    Program("dropout_eval", lambda: Dropout().eval(), BOTH, lowers=False),
    Program(
        "size_predicate", SizePredicate, [(torch.ones(3, 3),), (torch.ones(7, 3),)],
        dynamic_shapes=({0: Dim("n", min=2, max=64)},),
    ),
    Program(
        "sizes_closed_over", SizesClosedOver, [(torch.ones(3, 3),), (-torch.ones(5, 3),), (torch.ones(6, 3),)],
        dynamic_shapes=({0: Dim("n", min=2, max=64)},),
    ),
    Program("vmap_inside", VmapInside, BOTH),
    Program("grad_inside", GradInside, BOTH, lowers=False),
    Program("unbacked", Unbacked, BOTH),
    Program("shared_memory", SharedMemory, BOTH),
    Program("callables", Callables, BOTH, lowers=False),
    Program("in_a_loop", InALoop, BOTH, lowers=False),
]  # fmt: skip
INFERENCE = Program("inference", Inference, BOTH)
