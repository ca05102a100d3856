"""Learning rates: schedulers within and outside of a step, tensors and Python numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, optim
from torch.optim import lr_scheduler

import dynamo_lite

from .harness import Step, compare, mlp, rows

SCHEDULERS: dict[str, Callable[[Any], Any]] = {
    "lambda": lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.9**epoch),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, 10),
    "one cycle": lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=40, cycle_momentum=False),
    "exponential": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    "steps": lambda o: lr_scheduler.StepLR(o, 2, 0.5),
    "warm restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
    "sequence": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.ConstantLR(o, 0.1), lr_scheduler.ExponentialLR(o, 0.9)], [2]
    ),
}


class Scheduled(Step):
    def __init__(self, optimizer: Any, scheduler: Any, is_inside: bool) -> None:
        super().__init__(mlp(), optimizer)
        self.scheduler = scheduler(self.optimizer)
        self.is_inside = is_inside

    def forward(self, x: Tensor) -> Any:
        loss = super().forward(x)
        if self.is_inside:
            self.scheduler.step()
        return loss


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("before", [0, 1])
def test_a_scheduler_outside_of_the_step(name: str, before: int) -> None:
    def made() -> Scheduled:
        torch.manual_seed(0)
        module = Scheduled(lambda p: optim.AdamW(p, lr=torch.tensor(0.1)), SCHEDULERS[name], is_inside=False)
        for call in range(before):
            module(*rows(1000 + call))
            module.scheduler.step()
        return module

    exported, eager = made(), made()
    run = dynamo_lite.export(exported, rows(0)).module()
    for call in range(8):
        torch.testing.assert_close(run(*rows(call)), eager(*rows(call)), rtol=1e-5, atol=1e-5)
        exported.scheduler.step()
        eager.scheduler.step()


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("rate", [0.1, torch.tensor(0.1)])
@pytest.mark.parametrize("before", [0, 1])
def test_a_scheduler_within_the_step(name: str, rate: Any, before: int) -> None:
    module = Scheduled(lambda p: optim.SGD(p, lr=rate), SCHEDULERS[name], is_inside=True)
    for call in range(before):
        module(*rows(call))
    with pytest.raises(dynamo_lite.UnsupportedEffect, match=r"lr=torch.tensor") as caught:
        dynamo_lite.export(module, rows(0))
    assert caught.value.id == "scheduler-step"
    assert "self.scheduler.step()" in str(caught.value)


class Counts(Step):
    """Warm-up and decay, computed in the step from a buffer."""

    def __init__(self) -> None:
        super().__init__(mlp(), lambda p: optim.AdamW(p, lr=torch.tensor(0.1)))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Tensor) -> Any:
        decay = 0.5 * (1 + torch.cos(math.pi * torch.clamp((self.count - 2) / 10, 0, 1)))
        for group in self.optimizer.param_groups:
            group["lr"].copy_(torch.where(self.count < 2, (self.count + 1) / 30, 0.01 + 0.09 * decay))
        loss = super().forward(x)
        self.count += 1
        return loss


@pytest.mark.parametrize("before", [0, 1])
def test_a_rate_that_a_buffer_decides(before: int) -> None:
    compare(Counts, before=before)


def test_a_rate_that_is_a_number_is_noted_and_guarded() -> None:
    module = Step(mlp(), lambda p: optim.SGD(p, lr=0.25))
    trace = dynamo_lite.trace(module, rows(0))
    assert [text for text in trace.notes if "the learning rate of SGD (0.25) is a constant" in text]
    assert trace.guards.check(module, rows(0)) is None
    module.optimizer.param_groups[0]["lr"] = 0.5
    problem = str(trace.guards.check(module, rows(0)))
    assert "param_groups[0]['lr'] == 0.25" in problem and "0.5" in problem


BAD = {
    "no gradient": "does not require grad",
    "not a scalar": "only for scalar outputs",
    "detached": "does not require grad",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_loss_has_the_error_of_eager(name: str) -> None:
    def made() -> Callable[[Tensor], Any]:
        net = mlp()
        if name == "no gradient":
            net.requires_grad_(False)
        optimizer = optim.SGD(net.parameters(), lr=0.1)

        def step(x: Tensor) -> Any:
            optimizer.zero_grad()
            loss = net(x) if name == "not a scalar" else net(x).mean()
            (loss.detach() if name == "detached" else loss).backward()
            optimizer.step()
            return loss.detach()

        return step

    with pytest.raises(RuntimeError, match=BAD[name]):
        dynamo_lite.export(made(), rows(0))
    with pytest.raises(RuntimeError, match=BAD[name]):
        made()(*rows(0))
