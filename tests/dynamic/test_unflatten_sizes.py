"""torch.export.unflatten of programs whose submodules share sizes of the inputs, against eager at other sizes."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite


class Flat(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0] * x.shape[1], -1)


class SizeReadInside(nn.Module):
    """The second size is first read within a submodule, and a tensor of the root goes there."""

    def __init__(self) -> None:
        super().__init__()
        self.flat = Flat()

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        return self.flat(x + n)[:n]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1]
        return self.rnn(x[:, : n - 1])[0][:, : n // 2]


class Taken(nn.Module):
    def forward(self, x: Tensor, k: Tensor) -> tuple[Tensor, int]:
        n = k.item()
        torch._check(n >= 0)
        torch._check(n < x.shape[0])
        return x * 2, int(n)


class AssertInside(nn.Module):
    """The check within the submodule is all that asks for the size of the input."""

    def __init__(self) -> None:
        super().__init__()
        self.taken, self.linear = Taken(), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y, n = self.taken(self.linear(x), x.sum().long() * 0 + 2)
        return y[:n]


@pytest.mark.parametrize("module", [SizeReadInside(), Recurrent(), AssertInside()], ids=lambda m: type(m).__name__)
def test_unflattened_equals_eager(module: nn.Module) -> None:
    program = dynamo_lite.export(module, (torch.randn(3, 5, 4),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    unflattened = torch.export.unflatten(copy.deepcopy(program))
    for batch, length in ((3, 5), (4, 7), (3, 2)):
        x = torch.randn(batch, length, 4)
        torch.testing.assert_close(unflattened(x), module(x))
        torch.testing.assert_close(program.module()(x), module(x))


def test_a_function_that_calls_modules() -> None:
    """The function is the root, and the modules are below it."""
    linear, flat = nn.Linear(4, 4), Flat()

    def forward(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        n = x.shape[0]
        return torch.relu(x), linear(x).sum(), nn.ReLU()(linear(x * 2)), flat(x + n)[:n]

    program = dynamo_lite.export(forward, (torch.randn(3, 4),), dynamic_shapes=({0: Dim.AUTO},))
    x = torch.randn(5, 4)
    torch.testing.assert_close(torch.export.unflatten(copy.deepcopy(program))(x), forward(x))
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    assert all("L__self__" in node.meta["nn_module_stack"] for node in nodes)
