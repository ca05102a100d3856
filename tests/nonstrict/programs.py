"""Programs for both modes: name → (module, args, dynamic_shapes). Strict and non-strict give the same program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.utils.checkpoint import checkpoint

Case = tuple[nn.Module, tuple[Any, ...], Any]
SAME: dict[str, Callable[[], Case]] = {}


def same(build: Callable[[], Case]) -> Callable[[], Case]:
    SAME[build.__name__] = build
    return build


class Wrap(nn.Module):
    """A module of a function, with a linear layer and a buffer to use."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(4))
        self.function = forward

    def forward(self, *args: Any) -> Any:
        return self.function(self, *args)


def x() -> Tensor:
    return torch.arange(8.0).reshape(2, 4)


@same
def regions() -> Case:
    def forward(self: Wrap, x: Tensor) -> Tensor:
        with torch.no_grad():
            y = self.linear(x)
        with torch.autocast("cpu", torch.bfloat16):
            z = self.linear(y)
        return z.float() + y

    return Wrap(forward), (x(),), None


@same
def buffer_assigned() -> Case:
    def forward(self: Wrap, x: Tensor) -> Tensor:
        self.count = self.count + x.sum(0)
        return x + self.count

    return Wrap(forward), (x(),), None


@same
def buffer_in_place() -> Case:
    def forward(self: Wrap, x: Tensor) -> Tensor:
        self.count.add_(1)
        return x * self.count

    return Wrap(forward), (x(),), None


@same
def cond() -> Case:
    def forward(self: Wrap, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 3, lambda t: self.linear(t) + self.count, lambda t: t - 1, (x,))

    return Wrap(forward), (x(),), None


@same
def nested_cond() -> Case:
    def inner(t: Tensor) -> Tensor:
        return torch.cond(t.mean() > 0, lambda u: u.sin(), lambda u: u.cos(), (t,))

    def forward(self: Wrap, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 3, inner, lambda t: t - 1, (x,))

    return Wrap(forward), (x(),), None


@same
def while_loop() -> Case:
    from torch._higher_order_ops.while_loop import while_loop

    def forward(self: Wrap, x: Tensor) -> Any:
        return while_loop(lambda n, t: n < 3, lambda n, t: (n + 1, self.linear(t)), (torch.tensor(0), x))

    return Wrap(forward), (x(),), None


@same
def scan() -> Case:
    from torch._higher_order_ops.scan import scan

    def forward(self: Wrap, x: Tensor) -> Any:
        return scan(lambda carry, row: (carry + row, carry * row), x[0], x)

    return Wrap(forward), (x(),), None


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # type: ignore[override]
        return grad * 2


@same
def function() -> Case:
    return Wrap(lambda self, x: Double.apply(self.linear(x))), (x(),), None


@same
def checkpointed() -> Case:
    return Wrap(lambda self, x: checkpoint(self.linear, x, use_reentrant=False) + 1), (x(),), None


@same
def gradient() -> Case:
    def forward(self: Wrap, x: Tensor) -> Tensor:
        y = x.detach().requires_grad_()
        return torch.autograd.grad((self.linear(y) ** 2).sum(), y)[0]

    return Wrap(forward), (x(),), None


@same
def vmapped() -> Case:
    return Wrap(lambda self, x: torch.vmap(lambda row: row.sin() + self.count)(x)), (x(),), None


@same
def dynamic_batch() -> Case:
    def forward(self: Wrap, x: Tensor) -> Tensor:
        half = x.shape[0] // 2
        return torch.cat([self.linear(x[:half]), x[half:]]).reshape(x.shape[0] * 2, -1)

    return Wrap(forward), (torch.randn(6, 4),), (({0: Dim("n", min=2, max=100)},),)


@same
def size_branch() -> Case:
    def forward(self: Wrap, x: Tensor) -> Tensor:
        return x.sin() if x.shape[0] > 3 else x.cos()

    return Wrap(forward), (torch.randn(6, 4),), (({0: Dim("n", min=4, max=100)},),)


@same
def unbacked() -> Case:
    def forward(self: Wrap, x: Tensor, n: Tensor) -> Tensor:
        size = n.item()
        torch._check(size >= 0)
        torch._check(size <= 8)
        return torch.zeros(size) + 1

    return Wrap(forward), (x(), torch.tensor(3)), None


@same
def first_call() -> Case:
    def forward(self: Any, x: Tensor) -> Tensor:
        if not hasattr(self, "scale"):
            self.scale = 3.0
        return x * self.scale

    return Wrap(forward), (x(),), None
