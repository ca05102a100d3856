"""Steps of training with branches on data: guards against losses that are not finite, steps that are skipped."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim

import dynamo_lite

from .branching_models import BRANCHING, OneMoreLayer
from .harness import Step, compare, made, mlp, rows
from .test_optimizers import FRESH


def rows_and_nan(call: int) -> tuple[Tensor]:
    (x,) = rows(call)
    return (x * float("nan") if call % 3 == 1 else x,)


class StepIfFinite(Step):
    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        loss = self.loss(x)
        loss.backward()
        if torch.isfinite(loss):
            self.optimizer.step()
        return loss.detach()


class StepEveryOther(Step):
    """Gradients of two calls; a counter that is a tensor decides."""

    def __init__(self, net: nn.Module, optimizer: Any = None) -> None:
        super().__init__(net, optimizer)
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x: Tensor) -> Any:
        loss = self.loss(x) / 2
        loss.backward()
        if (self.count + 1) % 2 == 0:
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=False)
        self.count += 1
        return loss.detach()


class Scaled(Step):
    """GradScaler decides from the gradients whether to step, and adapts its scale."""

    def __init__(self) -> None:
        super().__init__(mlp(), lambda parameters: optim.SGD(parameters, lr=0.1))
        self.scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        loss = self.loss(x)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach(), self.scaler._scale.clone()  # type: ignore[union-attr]


class BackwardIfFinite(Step):
    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        loss = self.loss(x)
        if torch.isfinite(loss):
            loss.backward()
            self.optimizer.step()
        return loss.detach()


class ReturnsEarly(Step):
    def update(self, x: Tensor) -> Tensor:
        loss = self.loss(x)
        if not torch.isfinite(loss):
            return loss.detach() * 0
        loss.backward()
        return loss.detach()

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        loss = self.update(x)
        self.optimizer.step()  # leaves the parameters that have no gradient
        return loss + 1


class ResetOnOneSide(Step):
    def forward(self, x: Tensor) -> Any:
        loss = self.loss(x)
        if torch.isfinite(loss):
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        return loss.detach()


class UnlikeLosses(Step):
    """Both sides leave gradients, which are clipped behind the branch."""

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        y = self.net(x)
        if x.sum() > 0:
            nn.functional.log_softmax(y, -1).mean().backward()
        else:
            y.pow(2).mean().backward()
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), 0.1)
        self.optimizer.step()
        return y.detach(), norm, self.net[0].weight.grad  # type: ignore[index]


class AnotherLossForSome(Step):
    """One side alone leaves gradients in a part, which the optimizer then leaves."""

    def __init__(self, net: nn.Module, optimizer: Any = None) -> None:
        super().__init__(nn.ModuleList([net, nn.Linear(4, 1)]), optimizer)

    def forward(self, x: Tensor) -> Any:
        net, head = self.net  # type: ignore[misc]
        self.optimizer.zero_grad()
        y = net(x)
        loss = y.pow(2).mean()
        if x.sum() > 0:
            (loss + head(y).mean()).backward()
        else:
            loss.backward()
        self.optimizer.step()
        return loss.detach()


class SomeMicroBatches(Step):
    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        for part in x.chunk(2):
            loss = self.loss(part)
            if part[0, 0] > 0:
                loss.backward()
        self.optimizer.step()
        return loss.detach()


class Twice(Step):
    """A further backward through one graph, if the gradients are large."""

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        y = self.net(x)
        y.pow(2).mean().backward(retain_graph=True)
        if self.net[0].weight.grad.norm() > 0.1:  # type: ignore[index, union-attr]
            y.abs().mean().backward()
        self.optimizer.step()
        return y.detach()


BACKWARD: dict[str, tuple[type[Step], Any]] = {
    "if finite": (BackwardIfFinite, rows_and_nan),
    "returns early": (ReturnsEarly, rows_and_nan),
    "reset on one side": (ResetOnOneSide, rows_and_nan),
    "unlike losses": (UnlikeLosses, rows),
    "another loss for some": (AnotherLossForSome, rows),
    "some micro-batches": (SomeMicroBatches, rows),
    "twice": (Twice, rows),
}


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("name", BACKWARD)
def test_backward_on_a_side(name: str, before: int) -> None:
    kind, inputs = BACKWARD[name]
    compare(lambda: kind(mlp()), inputs, before)


@pytest.mark.parametrize("name", BACKWARD)
def test_backward_on_a_side_with_state(name: str) -> None:
    kind, inputs = BACKWARD[name]
    compare(lambda: kind(mlp(), lambda p: optim.Adam(p, lr=0.01)), inputs, before=8)


class ChangedOnOneSide(Step):
    """What one side changes in place has another autograd graph on the other one."""

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        y = self.net(x) * 1.0
        if x.sum() > 0:
            y.mul_(2)
            y.mean().backward()
        else:
            y.pow(2).mean().backward()
        self.optimizer.step()
        return y.detach().sum()


class NeverReset(Step):
    """The gradients of the call before are used where the loss is not finite."""

    def forward(self, x: Tensor) -> Any:
        loss = self.loss(x)
        if torch.isfinite(loss):
            self.optimizer.zero_grad()
            loss.backward()
        self.optimizer.step()
        return loss.detach()


@pytest.mark.parametrize(
    ("kind", "error"), [(ChangedOnOneSide, "control-flow-gradient"), (NeverReset, "kept-gradient")]
)
@pytest.mark.parametrize("before", [0, 1])
def test_what_is_refused(kind: type[Step], error: str, before: int) -> None:
    with pytest.raises(dynamo_lite.GraphBreak) as caught:
        dynamo_lite.export(made(lambda: kind(mlp()), rows, before), rows(0))
    assert caught.value.id == error


def nan_and_rows(call: int) -> tuple[Tensor]:
    """The first call of all takes no step."""
    return rows_and_nan(call + 1)


@pytest.mark.parametrize("name", ["adam", "undamped", "nesterov", "rprop"])
def test_the_first_step_may_be_on_a_side(name: str) -> None:
    program = compare(lambda: StepIfFinite(mlp(), FRESH[name]), nan_and_rows)
    notes = program.trace.notes
    assert [text for text in notes if "begins with the state that the first step of" in text]


class Begins(optim.Optimizer):
    """begins_alone: its steps are other ones while some of the parameters have no state yet."""

    def __init__(self, parameters: Any, begins_alone: bool) -> None:
        super().__init__(parameters, {})
        self.begins_alone = begins_alone

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        known = len(self.state)
        parameters = [p for p in self.param_groups[0]["params"] if p.grad is not None]
        for parameter in parameters:
            if not self.state[parameter]:
                self.state[parameter]["mean"] = torch.zeros_like(parameter)
            self.state[parameter]["mean"].lerp_(parameter.grad, 0.5)
            is_mixed = 0 < known < len(parameters)
            parameter.sub_(self.state[parameter]["mean"], alpha=0.2 if is_mixed and self.begins_alone else 0.1)


class LooksAtState(StepIfFinite):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x), len(self.optimizer.state)


def _dampened(parameters: Any) -> optim.Optimizer:
    return optim.SGD(parameters, 0.1, momentum=0.9, dampening=0.1)


FIRST_STEPS: dict[str, Any] = {
    "other than later ones": lambda: StepIfFinite(mlp(), _dampened),
    "other if some have state": lambda: StepIfFinite(mlp(), lambda p: Begins(p, begins_alone=True)),
    "the program looks": lambda: LooksAtState(mlp(), lambda p: optim.Adam(p, 0.01)),
}


@pytest.mark.parametrize("name", FIRST_STEPS)
def test_a_first_step_on_a_side_that_is_refused(name: str) -> None:
    module = FIRST_STEPS[name]()
    with pytest.raises(dynamo_lite.UnsupportedEffect, match="take one step before the export") as caught:
        dynamo_lite.export(module, rows(0))
    assert caught.value.id == "first-step-in-branch"
    assert not module.optimizer.state


def test_an_optimizer_in_plain_python_whose_first_step_is_on_a_side() -> None:
    compare(lambda: StepIfFinite(mlp(), lambda p: Begins(p, begins_alone=False)), nan_and_rows)


class ScaledFromTheFirst(Scaled):
    def __init__(self) -> None:
        super().__init__()
        self.optimizer = optim.AdamW(self.net.parameters(), lr=0.01)
        self.scaler.scale(torch.ones(()))  # which makes the tensor of its scale


def test_a_scaler_from_the_very_first_step() -> None:
    compare(ScaledFromTheFirst, nan_and_rows)


@pytest.mark.parametrize("kind", [optim.SGD, optim.AdamW])
def test_a_step_that_is_taken_if_the_loss_is_finite(kind: Any) -> None:
    before = 0 if kind is optim.SGD else 2  # of which one is not taken
    compare(lambda: StepIfFinite(mlp(), lambda p: kind(p, lr=0.1)), rows_and_nan, before)


def test_a_step_of_every_other_call() -> None:
    compare(lambda: StepEveryOther(mlp(), lambda p: optim.Adam(p, lr=0.1)), before=2)


def test_a_scaler_that_skips_steps() -> None:
    compare(Scaled, rows_and_nan, before=2)


IN_MODELS = [
    ("EitherLayer", "adam"),
    ("OneMoreLayer", "sgd"),
    ("EarlyExit", "sgd"),
    ("DropoutOnSides", "adam"),
    ("NormedOnOneSide", "sgd"),
]
MORE_IN_MODELS = [(name, kind) for name in BRANCHING for kind in ("sgd", "adam") if (name, kind) not in IN_MODELS]


@pytest.mark.parametrize(
    ("name", "optimizer"), [*IN_MODELS, *(pytest.param(*row, marks=pytest.mark.long) for row in MORE_IN_MODELS)]
)
def test_a_branch_in_the_model(name: str, optimizer: str) -> None:
    """Each side has its autograd graph, so it runs on to the end of the step. From a fresh optimizer."""
    compare(lambda: Step(BRANCHING[name](), FRESH[optimizer]))


def test_a_gradient_penalty_through_a_branch() -> None:
    class Penalty(Step):
        def loss(self, x: Tensor) -> Tensor:
            at = x.clone().requires_grad_()
            y = self.net(at)
            (gradient,) = torch.autograd.grad(y.sum(), at, create_graph=True)
            return (y.pow(2).mean() + gradient.pow(2).mean()) / 10

    compare(lambda: Penalty(BRANCHING["OneMoreLayer"]()))


FUSED: dict[str, Any] = {
    "Adam": lambda p: optim.Adam(p, lr=0.01, fused=True),
    "AdamW": lambda p: optim.AdamW(p, lr=0.01, fused=True, amsgrad=True),
    "SGD": lambda p: optim.SGD(p, lr=0.01, momentum=0.9, fused=True),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.01, fused=True),
}


@pytest.mark.parametrize("name", FUSED)
def test_a_fused_step_on_a_side(name: str) -> None:
    """The operator writes to lists behind its first argument, too: the moments were lost."""
    compare(lambda: StepIfFinite(mlp(), FUSED[name]), rows_and_nan, before=8)


@pytest.mark.parametrize("name", sorted(FUSED.keys() - {"SGD"}))
def test_a_fused_step_behind_a_branch_of_the_model(name: str) -> None:
    """Not of SGD: eager raises an error where one layer was never taken."""
    compare(lambda: Step(OneMoreLayer(), FUSED[name]), rows, before=8)
