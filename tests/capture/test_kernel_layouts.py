"""Programs that ask how a result lies in memory, against eager: operands in every order of their dimensions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import dynamo_lite
from dynamo_lite.capture.fakes import kernel_layouts

aten = torch.ops.aten
OPERATORS: dict[str, Callable[[Tensor], Tensor]] = {
    "batch_norm": lambda x: F.batch_norm(x, torch.zeros(3), torch.ones(3)),
    "batch_norm, training": lambda x: F.batch_norm(x, None, None, torch.ones(3), torch.zeros(3), True),
    "copysign": lambda x: x.copysign(x * 2),
    "floor_divide": lambda x: x.floor_divide(x + 10),
    "div": lambda x: torch.div(x, x + 10, rounding_mode="floor"),
    "xlogy": lambda x: torch.xlogy(x, x.exp()),
    "xlog1py": lambda x: torch.special.xlog1py(x, x.exp()),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x.sigmoid(), x.sigmoid(), reduction="none"),
    "reflect": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "replicate": lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"),
    "channel_shuffle": lambda x: F.channel_shuffle(x.transpose(0, 1), 2),
    "add": lambda x: x + x,
    "layer_norm": lambda x: F.layer_norm(x, (5,)),
}

INTO: dict[str, Callable[[Tensor, Tensor], object]] = {
    "add": lambda x, out: torch.add(x, 1, out=out),
    "add, broadcast": lambda x, out: torch.add(x, torch.ones(x.shape[-1]), out=out),
    "mul": lambda x, out: torch.mul(x, x.contiguous(), out=out),
    "cos": lambda x, out: torch.cos(x, out=out),
    "where": lambda x, out: torch.where(x > 0, x, -x, out=out),
    "cat": lambda x, out: torch.cat([x, x], out=out),
    "stack": lambda x, out: torch.stack([x, x], out=out),
    "cumsum": lambda x, out: torch.cumsum(x, 0, out=out),
    "sum": lambda x, out: torch.sum(x, 0, out=out),
    "sort": lambda x, out: torch.sort(x, 0, out=(out, torch.empty(0, dtype=torch.long))),
    "index_select": lambda x, out: torch.index_select(x, 0, torch.tensor([1, 0]), out=out),
    "eq": lambda x, out: torch.eq(x, 1, out=out),
}
"""Operators that write into a tensor without elements, which gets the sizes of the result."""

ORDERS = [(0, 2, 3, 1), (3, 2, 1, 0), (0, 1, 3, 2), (1, 2, 3, 0)]
"""Of the dimensions in memory, from the outermost: channels last, reversed, two exchanged, the batch last."""
CASES = [
    *((name, False) for name in OPERATORS),
    *((n, True) for n in ("batch_norm", "reflect", "channel_shuffle", "add")),
]


class Asks(nn.Module):
    def __init__(self, operator: Callable[[Tensor], Tensor], order: tuple[int, ...]) -> None:
        super().__init__()
        self.operator, self.order = operator, order

    def forward(self, x: Tensor) -> Tensor:
        y = self.operator(x.permute(self.order).contiguous().permute([self.order.index(d) for d in range(x.dim())]))
        steps = [y.stride(dim) for dim in range(y.dim())]
        weight = sum((place + 1) * (steps[place] > steps[place + 1]) for place in range(y.dim() - 1))
        return y + 100 * weight if y.is_contiguous() else y - 100 * weight


@pytest.mark.parametrize(("name", "is_dynamic"), CASES)
def test_layout_is_eagers(name: str, is_dynamic: bool) -> None:
    x = torch.randn(2, 3, 4, 5)
    for order in ORDERS:
        model = Asks(OPERATORS[name], order)
        shapes = {"x": {3: torch.export.Dim.AUTO}} if is_dynamic else None
        program = dynamo_lite.export(model, (x,), dynamic_shapes=shapes).module()
        torch.testing.assert_close(program(x), model(x))


def test_the_graph_of_autograd_stays() -> None:
    class Gradient(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = F.batch_norm(x.transpose(1, 2), torch.zeros(3), torch.ones(3))
            (gradient,) = torch.autograd.grad(y.exp().sum(), x)
            return gradient + 100 * y.is_contiguous()

    x = torch.randn(2, 4, 3, requires_grad=True)
    torch.testing.assert_close(dynamo_lite.export(Gradient(), (x,)).module()(x), Gradient()(x))


def test_a_kernel_that_is_not_asked_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with large operands costs what it costs in eager. Only a program that asks about memory can tell."""
    monkeypatch.setattr(kernel_layouts, "_LIMIT", 10)
    x = torch.randn(2, 3, 4, 7)  # sizes of its own: what an operator returns is remembered
    asks = dynamo_lite.export(Asks(OPERATORS["batch_norm"], ORDERS[0]), (x,))
    assert [note for note in asks.notes if "the kernel of aten.batch_norm.default was not asked" in note]
    silent = dynamo_lite.export(lambda x: OPERATORS["batch_norm"](x.transpose(2, 3)) + 1, (x,))
    assert not [note for note in silent.notes if "was not asked" in note]


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("name", INTO)
def test_layout_of_what_is_given_as_out_is_eagers(name: str, is_dynamic: bool) -> None:
    def written(x: Tensor) -> Tensor:
        out = torch.empty(0)
        INTO[name](x, out)
        return out

    for x in (torch.randn(2, 3, 4, 5), torch.randn(2, 1, 4, 1)):
        for order in ORDERS:
            model = Asks(written, order)
            shapes = {"x": {3: torch.export.Dim.AUTO}} if is_dynamic else None
            program = dynamo_lite.export(model, (x,), dynamic_shapes=shapes).module()
            torch.testing.assert_close(program(x), model(x))
