"""Loops with a gradient: torch makes it when the program is called. A round that it cannot differentiate is refused."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite.errors import GraphBreak


class Rows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.lstm = nn.LSTM(4, 4)

    def forward(self, x: Tensor, n: Tensor) -> Tensor:
        x = self.layer(x)
        return torch.stack([self.row(x[i], n[i]) for i in range(x.shape[0])])

    def row(self, x: Tensor, n: Tensor) -> Tensor:
        raise NotImplementedError


class Slice(Rows):
    def row(self, x: Tensor, n: Tensor) -> Tensor:
        return x[: n.item()].sum(0)


class Number(Rows):
    def row(self, x: Tensor, n: Tensor) -> Tensor:
        return x * n.item()


class Mask(Rows):
    def row(self, x: Tensor, n: Tensor) -> Tensor:
        return x[x[:, 0] > 0].sum(0)


class UnlikeGradients(Rows):
    def row(self, x: Tensor, n: Tensor) -> Tensor:
        return x.sum(0) if n > 2 else x.sum(0) * 2


class Undefined(Rows):
    def row(self, x: Tensor, n: Tensor) -> Tensor:
        return self.lstm(x)[0]


class Plain(Rows):
    def row(self, x: Tensor, n: Tensor) -> Tensor:
        return torch.tanh(self.layer(x)) * n


class Branch(Rows):
    def row(self, x: Tensor, n: Tensor) -> Tensor:
        return x.sin() if n > 2 else x.cos() * x


ARGS = torch.randn(3, 5, 4), torch.tensor([2, 5, 1])
OTHERS = torch.randn(4, 5, 4), torch.tensor([3, 1, 4, 5])
SIZES = ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})


@pytest.mark.parametrize("kind", [Slice, Number, Mask, UnlikeGradients, Undefined])
def test_refused_with_a_gradient(kind: type[Rows]) -> None:
    module = kind()
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(module, ARGS, dynamic_shapes=SIZES)
    assert caught.value.id == "loop-gradient"
    with torch.no_grad():
        program = dynamo_lite.export(module, ARGS, dynamic_shapes=SIZES).module()
        for args in (ARGS, OTHERS):
            torch.testing.assert_close(program(*args), module(*args))


@pytest.mark.parametrize("kind", [Plain, Branch])
def test_the_gradient_is_eagers(kind: type[Rows]) -> None:
    module = kind()
    program = dynamo_lite.export(module, ARGS, dynamic_shapes=SIZES).module()
    for args in (ARGS, OTHERS):
        got, expected = program(*args), module(*args)
        torch.testing.assert_close(got, expected)
        given = torch.autograd.grad(got.square().sum(), list(program.layer.parameters()))  # type: ignore[union-attr]
        wanted = torch.autograd.grad(expected.square().sum(), list(module.layer.parameters()))
        torch.testing.assert_close(given, wanted)
