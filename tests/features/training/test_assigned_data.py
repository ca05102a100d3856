"""`parameter.data = value`: a copy where that is the same as other memory for the parameter, else refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim

import dynamo_lite

from .harness import Step, compare, mlp


class Holder(nn.Module):
    def __init__(self, change: Callable[[Holder, Tensor], Tensor]) -> None:
        super().__init__()
        self.w, self.v = nn.Parameter(torch.ones(3)), nn.Parameter(torch.full((3,), 2.0))
        self.change = change

    def forward(self, x: Tensor) -> Tensor:
        return self.change(self, x)


def given(call: int) -> tuple[Tensor]:
    return (torch.randn(3, generator=torch.Generator().manual_seed(call)),)


def assign(m: Holder, value: Tensor) -> Tensor:
    m.w.data = value
    return value


def added(m: Holder, x: Tensor) -> Tensor:
    assign(m, m.w.data + x)
    return m.w * 2


def read_afterwards(m: Holder, x: Tensor) -> Tensor:
    return assign(m, m.w.data + x) * 2


def swapped(m: Holder, x: Tensor) -> Tensor:
    m.w.data, m.v.data = m.v.data + 0, m.w.data + 0
    return m.w * x


def of_one_vector(m: Holder, x: Tensor) -> Tensor:
    nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(m.parameters()) * 0.5, m.parameters())
    return m.w * m.v


def between_forward_and_backward(m: Holder, x: Tensor) -> Tensor:
    y = (m.w * m.w * x).sum()  # autograd keeps the parameter, not its memory
    assign(m, m.w.data + 1)
    gradient: Tensor = torch.autograd.grad(y, m.w)[0]
    return gradient


@pytest.mark.parametrize(
    "change", [added, read_afterwards, swapped, of_one_vector, between_forward_and_backward], ids=lambda f: f.__name__
)
def test_an_assignment_is_a_copy(change: Callable[[Holder, Tensor], Tensor]) -> None:
    compare(lambda: Holder(change), given)


def old_memory_is_read(m: Holder, x: Tensor) -> Tensor:
    old = m.w.data
    assign(m, m.w.data + x)
    return old * 2


def old_memory_is_kept_for_the_backward(m: Holder, x: Tensor) -> Tensor:
    y = (m.w.view(3) * x.exp() * m.w.view(3)).sum()
    assign(m, m.w.data + 1)
    gradient: Tensor = torch.autograd.grad(y, m.w)[0]
    return gradient


def value_is_written(m: Holder, x: Tensor) -> Tensor:
    assign(m, m.w.data + x).add_(1)
    return m.w * 1


def parameter_is_written(m: Holder, x: Tensor) -> Tensor:
    value = assign(m, m.w.data + x)
    with torch.no_grad():
        m.w.add_(1)
    return value * 2


def value_is_returned(m: Holder, x: Tensor) -> Tensor:
    return assign(m, m.w.data + x)


def value_is_kept(m: Holder, x: Tensor) -> Tensor:
    m.kept = assign(m, m.w.data + x)
    return x


def of_another_parameter(m: Holder, x: Tensor) -> Tensor:
    assign(m, m.v.data)
    return m.w * x


def of_an_argument(m: Holder, x: Tensor) -> Tensor:
    assign(m, x)
    return m.w * 2


def two_get_the_same_memory(m: Holder, x: Tensor) -> Tensor:
    y = m.w * m.v
    with torch.no_grad():
        m.w.add_(x)  # in the next call also of v
    m.v.data = assign(m, m.v.data * 0.5)
    return y


def another_size(m: Holder, x: Tensor) -> Tensor:
    assign(m, torch.cat([m.w.data, x]))
    return m.w.sum()


@pytest.mark.parametrize(
    "change",
    [
        old_memory_is_read, old_memory_is_kept_for_the_backward, value_is_written, parameter_is_written,
        value_is_returned, value_is_kept, of_another_parameter, of_an_argument, two_get_the_same_memory, another_size,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_memory_that_is_seen_under_another_name_is_refused(change: Callable[[Holder, Tensor], Tensor]) -> None:
    with pytest.raises(dynamo_lite.GraphBreak) as caught:
        dynamo_lite.export(Holder(change), given(0))
    assert caught.value.id == "tensor-data-assigned"


class SAM(optim.Optimizer):
    """Two backwards a step: from the weights moved uphill, which are then put back by `.data =`."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {"rho": 0.05})
        self.base = optim.SGD(self.param_groups, lr=0.1, momentum=0.9)

    @torch.no_grad()
    def climb(self) -> None:
        for p in self.param_groups[0]["params"]:
            self.state[p]["old"] = p.data.clone()
            p.add_(p.grad, alpha=0.05)
        self.zero_grad()

    @torch.no_grad()
    def descend(self) -> None:
        for p in self.param_groups[0]["params"]:
            p.data = self.state[p]["old"]
        self.base.step()
        self.zero_grad()


class SharpnessAware(Step):
    def forward(self, x: Tensor) -> Any:
        loss = self.loss(x)
        loss.backward()
        self.optimizer.climb()  # type: ignore[attr-defined]
        self.loss(x).backward()
        self.optimizer.descend()  # type: ignore[attr-defined]
        return loss.detach()


def test_an_optimizer_that_puts_weights_back() -> None:
    """Methods of other names than `step` make and use its state."""
    torch.manual_seed(0)
    exported = SharpnessAware(mlp(), SAM)
    torch.manual_seed(0)
    eager = SharpnessAware(mlp(), SAM)
    x = torch.randn(6, 3)
    run = dynamo_lite.export(exported, (x,)).module()
    for _ in range(5):
        torch.testing.assert_close(run(x), eager(x), rtol=1e-5, atol=1e-5)
