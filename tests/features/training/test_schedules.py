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

from .harness import Step, compare, made, mlp, rows

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


COUNTED = {
    "lambda": 0.1,
    "cosine": 0.1,
    "one cycle": torch.tensor(0.1),
    "exponential": 0.1,
    "steps": 0.1,
    "warm restarts": 0.1,
}
"""Schedulers that a step may call, with a rate: what they count is in buffers of the program."""


def within(name: str, rate: Any, before: int) -> Scheduled:
    torch.manual_seed(0)
    given = rate.clone() if isinstance(rate, Tensor) else rate  # the scheduler changes it
    module = Scheduled(lambda p: optim.SGD(p, lr=given), SCHEDULERS[name], is_inside=True)
    for call in range(before):
        module(*rows(1000 + call))
    return module


@pytest.mark.parametrize("name", COUNTED)
def test_a_scheduler_within_the_step(name: str) -> None:
    exported, eager = (within(name, COUNTED[name], before=len(name) % 2) for _ in range(2))
    program = dynamo_lite.export(exported, rows(0))
    assert exported.scheduler.last_epoch == eager.scheduler.last_epoch
    run = program.module()
    for call in range(8):
        torch.testing.assert_close(run(*rows(call)), eager(*rows(call)), rtol=1e-5, atol=1e-5)
    assert int(run.state_dict()["scheduler.last_epoch"]) == eager.scheduler.last_epoch
    assert any("are buffers of the program: scheduler" in note for note in program.trace.notes)


@pytest.mark.parametrize("name", sorted(SCHEDULERS.keys() - COUNTED.keys()))
@pytest.mark.parametrize("rate", [0.1, torch.tensor(0.1)])
def test_a_scheduler_that_needs_its_number_as_a_constant(name: str, rate: Any) -> None:
    with pytest.raises(dynamo_lite.UnsupportedEffect, match=r"lr=torch.tensor") as caught:
        dynamo_lite.export(within(name, rate, before=0), rows(0))
    assert caught.value.id == "scheduler-step"
    assert "self.scheduler.step()" in str(caught.value)


class CountsInPython(optim.Optimizer):
    """Numbers in the state of a parameter, in a group, and of the optimizer itself, as optimizers outside of torch have
    them. The last one comes back to zero, and `left` becomes negative."""

    total = 0

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self.total = (self.total + 1) % 3
        for group in self.param_groups:
            group["left"] -= 1
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["step"], state["mean"] = 0, torch.zeros_like(parameter)
                state["step"] += 1
                state["mean"].mul_(0.5).add_(parameter.grad)
                rate = (0.1 if group["left"] > 0 else 0.01) / (1 - 0.5 ** state["step"]) * state["step"] ** -0.5
                parameter.sub_(state["mean"], alpha=rate * (self.total + 1))


def test_an_optimizer_that_counts_in_python() -> None:
    def make() -> Step:
        return Step(mlp(), lambda p: CountsInPython(p, {"left": 5}))

    exported, eager = (made(make, rows, before=1) for _ in range(2))
    run = dynamo_lite.export(exported, rows(0)).module()
    for call in range(8):
        torch.testing.assert_close(run(*rows(call)), eager(*rows(call)), rtol=1e-5, atol=1e-5)
    state = run.state_dict()
    assert int(state["optimizer.state.3.step"]) == 9 and int(state["optimizer.group.0.left"]) == -4
    assert next(iter(exported.optimizer.state.values()))["step"] == 1


def test_an_optimizer_that_begins_to_count_takes_one_step_first() -> None:
    with pytest.raises(dynamo_lite.UnsupportedEffect):
        dynamo_lite.export(Step(mlp(), lambda p: CountsInPython(p, {"left": 5})), rows(0))


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
