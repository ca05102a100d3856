"""Loops that data end, and through which a gradient goes: the iterations are counted, and become a scan of so many."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from tests.control_flow.harness import saved_and_loaded


class Relaxed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        with torch.no_grad():
            self.layer.weight.mul_(0.4)

    def forward(self, x: Tensor) -> Tensor:
        z = torch.zeros_like(x)
        new = self.layer(z) + x
        while (new - z).norm() > 0.1:
            z, new = new, torch.tanh(self.layer(new)) + x
        return new * 2


class Numbered(Relaxed):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        steps = 0
        while steps < 40 and x.norm() > 0.5:
            x = torch.tanh(self.layer(x)) * 0.8
            steps += 1
        return x, steps


class Stacked(Relaxed):
    def forward(self, x: Tensor) -> Tensor:
        outs = [x]
        while x.norm() > 0.5:
            x = self.layer(x) * 0.7
            outs.append(x)
        return torch.stack(outs).sum(0)


class Endless(Relaxed):
    def forward(self, x: Tensor) -> Tensor:
        while True:
            x = self.layer(x) * 0.7
            if x.norm() < 0.5:
                break
            x = x + x.sin() * 0.1
        return x


class Halting(Relaxed):
    """Adaptive computation time."""

    def forward(self, x: Tensor) -> Tensor:
        total, halted, steps = torch.zeros_like(x), torch.zeros(()), 0
        while steps < 25 and halted < 0.99:
            p = torch.sigmoid(x.mean()) * 0.3
            p = torch.minimum(p, 1 - halted)
            total = total + p * x
            halted = halted + p
            x = torch.tanh(self.layer(x))
            steps += 1
        return total


class FromParameter(Relaxed):
    def forward(self, x: Tensor) -> Tensor:
        weight = self.layer.weight
        while (weight @ x.T).norm() > 3.0:
            weight = weight - 0.1 * weight
        return weight


class Early(Relaxed):
    def forward(self, x: Tensor) -> Tensor:
        for _ in range(45):
            new = torch.tanh(self.layer(x)) * 0.9
            if (new - x).norm() < 0.05:
                break
            x = new
        return x


class EarlyWithItsNumber(Relaxed):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        steps = 0
        for steps in range(2, 40):  # noqa: B007  # what it is behind the loop
            x = torch.tanh(self.layer(x)) * 0.9
            if x.norm() < 0.2:
                break
        return x, steps


class EarlyOfData(Relaxed):
    """Only run time knows how many iterations there may be."""

    def forward(self, x: Tensor) -> Tensor:
        for _ in range((x.abs().sum() * 2).long().item()):
            x = torch.tanh(self.layer(x)) * 0.9
            if x.norm() < 0.2:
                break
        return x


INPUTS = [torch.full((2, 3), value) for value in (2.0, 0.01, 9.0, 0.3)]


KINDS = [Relaxed, Numbered, Stacked, Endless, Halting, FromParameter, Early, EarlyWithItsNumber, EarlyOfData]


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_equal_eager(kind: type[Relaxed]) -> None:
    torch.manual_seed(0)
    module = kind()
    ep = dynamo_lite.export(module, (INPUTS[0],))
    for program in (ep.module(), saved_and_loaded(ep).module()):
        for value in INPUTS:
            results = []
            for call in (module, program):
                x = value.clone().requires_grad_()
                out = call(x)
                out, *rest = out if isinstance(out, tuple) else (out,)
                weight = next(v for v in call.parameters() if v.dim() == 2)
                grads = torch.autograd.grad(out.sum(), [x, weight], allow_unused=True)
                results.append((out, rest, *(g if g is not None else torch.zeros(()) for g in grads)))
            eager, ours = results
            assert eager[1] == ours[1]
            for one, other in zip(eager[::2] + eager[3:], ours[::2] + ours[3:]):
                torch.testing.assert_close(other, one.expand_as(other))
