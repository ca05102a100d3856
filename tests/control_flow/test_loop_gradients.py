"""Loops with a gradient: torch makes it when the program is called, or where it raises an error `program.module()`."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from tests.control_flow.harness import saved_and_loaded


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


@pytest.mark.parametrize("kind", [Plain, Branch, Slice, Number, Mask, UnlikeGradients, Undefined])
def test_the_gradient_is_eagers(kind: type[Rows]) -> None:
    """torch has no gradient of the iterations of the last five."""
    module = kind()
    trace = dynamo_lite.trace(module, ARGS, dynamic_shapes=SIZES)
    assert any("not in torch's scan" in note for note in trace.notes) is (kind not in (Plain, Branch))
    for program in (trace.program.module(), saved_and_loaded(trace.program, dynamo_lite.load).module()):
        for args in (ARGS, OTHERS):
            got, expected = program(*args), module(*args)
            torch.testing.assert_close(got, expected)
            given = torch.autograd.grad(got.square().sum(), list(program.layer.parameters()))
            wanted = torch.autograd.grad(expected.square().sum(), list(module.layer.parameters()))
            torch.testing.assert_close(given, wanted)


@pytest.mark.parametrize("kind", [Slice, Number, Mask, UnlikeGradients, Undefined])
def test_torchs_operator_raises_for_the_others(kind: type[Rows]) -> None:
    module = kind()
    program = saved_and_loaded(dynamo_lite.export(module, ARGS, dynamic_shapes=SIZES)).module()
    with torch.no_grad():
        torch.testing.assert_close(program(*OTHERS), module(*OTHERS))
    with pytest.raises(Exception):  # noqa: B017  # torch's, of several kinds
        torch.autograd.grad(program(*ARGS).sum(), list(program.layer.parameters()))


class Independent(nn.Module):
    """Its loop computes with the input alone: no gradient goes through it in the example."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, unused: torch.Tensor) -> torch.Tensor:
        y = x * 1
        while y.norm() > 1:
            y = y * 0.5 + y.sin() * 0.1
        return self.layer(x) + y + unused


@pytest.mark.parametrize("within", [False, True])
def test_an_input_that_requires_grad_in_another_call_only(within: bool) -> None:
    """Its gradient would go through torch's while_loop, whose gradient is wrong."""

    class Within(Independent):
        def forward(self, x: torch.Tensor, unused: torch.Tensor) -> torch.Tensor:
            return super().forward(x, unused) if x.sum() > 0 else x * 2

    torch.manual_seed(0)
    module = Within() if within else Independent()
    x, other = torch.full((2, 3), 4.0), torch.ones(3)
    ep = dynamo_lite.export(module, (x, other))
    for program in (ep.module(), saved_and_loaded(ep).module(), ep.run_decompositions().module()):
        torch.testing.assert_close(program(x, other), module(x, other))
        with pytest.raises(AssertionError, match="requires_grad"):
            program(x.clone().requires_grad_(), other)
        with torch.no_grad():
            torch.testing.assert_close(program(x.clone().requires_grad_(), other), module(x, other))
        marked = other.clone().requires_grad_()  # no gradient of it goes through the loop
        if not within:
            program(x, marked).sum().backward()
            assert torch.equal(marked.grad, torch.full((3,), 2.0))


def test_counting_iterations_has_no_gradient() -> None:
    """The loop that is run to count the iterations of another computes with what requires grad in the calls only."""

    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y, z = x * 1, self.layer(x)
            while y.norm() > 1:
                y = y * 0.5
                z = torch.tanh(z) * 0.9 + y
            return z

    torch.manual_seed(0)
    module, x = Counted(), torch.full((2, 3), 4.0)
    program = dynamo_lite.export(module, (x,)).module()
    found = []
    for call in (module, program):
        given = x.clone().requires_grad_()
        weight = next(iter(call.parameters()))
        found.append(torch.autograd.grad(call(given).sum(), [given, weight]))
    torch.testing.assert_close(found[1], found[0])


def test_a_loop_that_is_exported_without_gradients_has_none() -> None:
    module, x = Independent(), torch.full((2, 3), 4.0)
    with torch.no_grad():
        found = dynamo_lite.trace(module, (x, torch.ones(3)))
    assert any("no gradient flows through the loop" in note for note in found.notes)
    given = x.clone().requires_grad_()
    results = found.program.module()(given, torch.ones(3))
    torch.testing.assert_close(results, module(x, torch.ones(3)))
    (gradient,) = torch.autograd.grad(results.sum(), [given])
    torch.testing.assert_close(gradient, module.layer.weight.sum(0).expand(2, 3))
