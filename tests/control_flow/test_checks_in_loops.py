"""Checks in the iterations of captured loops: the program raises where eager does, and only there."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from tests.control_flow.harness import saved_and_loaded


class While(nn.Module):
    def forward(self, x: Tensor, k: Tensor, t: Tensor) -> Tensor:
        n = k.item()
        while t.sum() > 0:
            torch._check(n != 5)
            x = x + 1
            t = t - 1
        return x


class Counted(nn.Module):
    def forward(self, x: Tensor, k: Tensor, t: Tensor) -> Tensor:
        n, m = int(k), int(t.sum())
        for _ in range(n):
            torch._check(n + m != 5)
            x = x + 1
        return x


class CountedAndEmpty(nn.Module):
    def forward(self, x: Tensor, k: Tensor, t: Tensor) -> Tensor:
        n, m = int(k), int(t.sum())
        for _ in range(min(n, 3)):
            torch._check(n + m != 5, lambda: "n + m is 5")
        return x + 1


class Raises(nn.Module):
    def forward(self, x: Tensor, k: Tensor, t: Tensor) -> Tensor:
        n, m = int(k), int(t.sum())
        for _ in range(n):
            if n + m == 5:
                raise ValueError("n + m is 5")
            x = x + 1
        return x


class Stacked(nn.Module):
    def forward(self, x: Tensor, k: Tensor, t: Tensor) -> Tensor:
        n = int(k)
        torch._check(n >= 1)
        rows = []
        for i in range(n):
            torch._check(n + i != 5)
            rows.append(x + i)
        return torch.stack(rows)


class OnOneSide(nn.Module):
    def forward(self, x: Tensor, k: Tensor, t: Tensor) -> Tensor:
        n = int(k)
        for i in range(n):
            if t.sum() > 0:
                torch._check(n + i != 5)
                x = x * 2
            else:
                x = x + 1
        return x


class Nested(nn.Module):
    def forward(self, x: Tensor, k: Tensor, t: Tensor) -> Tensor:
        n = int(k)
        while x.sum() < 9:
            j = 0
            while x.sum() < 20:
                torch._check(n + j != 5)
                x = x + 1
                j += 1
        return x


class LeftByBreak(nn.Module):
    def forward(self, x: Tensor, k: Tensor, t: Tensor) -> Tensor:
        n = int(k)
        for i in range(6):
            if t.sum() > 3:
                break
            torch._check(n + i != 5)
            t = t + 1
            x = x + 1
        return x


class OfAFloat(nn.Module):
    def forward(self, x: Tensor, k: Tensor, t: Tensor) -> Tensor:
        total = x.sum().item()
        for _ in range(int(k)):
            torch._check(total * 2 < 7)
            x = x + 1
        return x


class OfTheRound(nn.Module):
    def forward(self, x: Tensor, k: Tensor, t: Tensor) -> Tensor:
        while t.sum() > 0:
            n = t.max().item()
            torch._check(n != 5)
            x = x + 1
            t = t - 1
        return x


MODULES = (While, Counted, CountedAndEmpty, Raises, Stacked, OnOneSide, Nested, LeftByBreak, OfAFloat, OfTheRound)
INPUTS = [
    (scale * torch.ones(3), torch.tensor(k), torch.tensor(t))
    for scale, k, t in [(1, 5, [2, 1]), (1, 5, [0, 0]), (1, 1, [3, 2]), (1, 2, [3, 0]), (1, 4, [-2, 2]), (4, 4, [5, 0])]
]


def answer(program: Any, args: tuple[Tensor, ...]) -> list[Any] | str:
    try:
        return program(*args).tolist()  # type: ignore[no-any-return]
    except (RuntimeError, AssertionError, ValueError):
        return "raises"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_raises_where_eager_does(module: type[nn.Module]) -> None:
    example = torch.ones(3), torch.tensor(2), torch.tensor([2, 2])
    program = dynamo_lite.export(module(), example, control_flow="capture")
    expected = [answer(module(), args) for args in INPUTS]
    assert "raises" in expected and not all(row == "raises" for row in expected)
    for exported in (program, saved_and_loaded(program)):
        assert [answer(exported.module(), args) for args in INPUTS] == expected


def test_checks_of_nested_sides_alone_are_kept() -> None:
    """Both sides of the outer branches leave the same: what they do is to raise, or not."""

    def fn(x: Tensor) -> Tensor:
        outs: list[Tensor] = []
        y = x * 2
        for i in range(3):
            x = x * 0.5
            if x[i] > 0:
                return y
        return outs[0]

    module = dynamo_lite.export(fn, (torch.ones(3),)).module()
    for given in ((-1.0, -1.0, 2.0), (-1.0, 1.0, -1.0), (1.0, 1.0, 1.0)):
        assert torch.equal(module(torch.tensor(given)), torch.tensor(given) * 2)
    with pytest.raises(RuntimeError, match="list index out of range"):
        module(-torch.ones(3))
