"""torch.optim, run as it is written: parameters, state and losses of twenty steps against eager."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor, nn, optim

import dynamo_lite

from .harness import Step, compare, follow, made, mlp, rows

OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "sgd": lambda p: optim.SGD(p, 0.1, weight_decay=0.01, maximize=False),
    "momentum": lambda p: optim.SGD(p, 0.1, momentum=0.9, dampening=0.1),
    "nesterov": lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True, foreach=True),
    "adam": lambda p: optim.Adam(p, 0.01),
    "amsgrad": lambda p: optim.Adam(p, 0.01, amsgrad=True, weight_decay=0.1, foreach=True),
    "adamw": lambda p: optim.AdamW(p, 0.01),
    "adamw foreach": lambda p: optim.AdamW(p, 0.01, foreach=True),
    "rmsprop": lambda p: optim.RMSprop(p, 0.01, momentum=0.5, centered=True),
    "adagrad": lambda p: optim.Adagrad(p, 0.01, lr_decay=0.1),
    "groups": lambda p: optim.AdamW([{"params": p[:2], "lr": 0.1}, {"params": p[2:], "weight_decay": 0.0}], 0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_twenty_steps_after_the_first_equal_eager(name: str) -> None:
    compare(lambda: Step(mlp(), OPTIMIZERS[name]), before=1)


FRESH: dict[str, Callable[[Any], optim.Optimizer]] = {
    **{name: make for name, make in OPTIMIZERS.items() if name != "momentum"},
    "undamped": lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, maximize=True, foreach=False),
    "nadam": lambda p: optim.NAdam(p, 0.01),
    "radam": lambda p: optim.RAdam(p, 0.01),
    "adamax": lambda p: optim.Adamax(p, 0.01),
    "adadelta": lambda p: optim.Adadelta(p, 0.1),
    "rprop": lambda p: optim.Rprop(p, 0.01),
    "adafactor": lambda p: optim.Adafactor(p, 0.01),
    "fused": lambda p: optim.AdamW(p, 0.01, fused=True),
    "tensor lr": lambda p: optim.Adam(p, torch.tensor(0.01)),
}


@pytest.mark.parametrize("name", FRESH)
def test_twenty_steps_of_a_fresh_optimizer_equal_eager(name: str) -> None:
    program = compare(lambda: Step(mlp(), FRESH[name]))
    if name not in ("sgd", "adagrad"):  # no state; state that the constructor makes
        assert program.trace.guards.check(Step(mlp(), FRESH[name]), rows(1), weights="any") is None


def test_another_optimizer_with_state_is_told_from_this_one() -> None:
    trace = dynamo_lite.trace(Step(mlp(), OPTIMIZERS["adagrad"]), rows(0))
    failure = trace.guards.check(Step(mlp(), OPTIMIZERS["adagrad"]), rows(0), weights="any")
    assert "optimizer" in str(failure) and "without" in str(failure)


@pytest.mark.parametrize("name", ["undamped", "adam", "fused"])
def test_the_export_leaves_the_optimizer_as_it_was(name: str) -> None:
    module, eager = (made(lambda: Step(mlp(), FRESH[name]), rows, 0) for _ in range(2))
    dynamo_lite.export(module, rows(0))
    assert not module.optimizer.state
    for call in range(3):
        torch.testing.assert_close(module(*rows(call)), eager(*rows(call)), rtol=0, atol=0)
    torch.testing.assert_close(module.optimizer.state_dict(), eager.optimizer.state_dict(), rtol=0, atol=0)


class Begins(optim.Optimizer):
    """An optimizer whose first step stores what `begin` makes of a parameter."""

    def __init__(self, parameters: Any, begin: Callable[[Any], Any], also: Callable[[Any], None] = lambda p: None):
        super().__init__(parameters, {})
        self.begin, self.also = begin, also

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for parameter in self.param_groups[0]["params"]:
            state = self.state[parameter]
            if not state:
                state["mean"] = self.begin(parameter)
                self.also(parameter)
            mean = state["mean"]
            mean.mul_(0.5).add_(parameter.grad)
            parameter.sub_(mean, alpha=0.1)


BEGINNINGS = {
    "ones": torch.ones_like,
    "filled": lambda p: torch.empty_like(p).fill_(3.0),
    "computed": lambda p: torch.arange(p.numel()).view(p.shape) * 0.25 + 1,
    "a view": lambda p: torch.zeros(2, *p.shape)[0],
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_state_that_is_computed_from_constants(name: str) -> None:
    compare(lambda: Step(mlp(), lambda p: Begins(p, BEGINNINGS[name])))


class KeepsItsLast(optim.Optimizer):
    """Keeps what it has computed last: the next step overwrites it before it is read."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for parameter in self.param_groups[0]["params"]:
            state = self.state[parameter]
            if not state:
                state["mean"], state["scale"] = torch.zeros_like(parameter), 0.0
            state["scale"] = parameter.norm() + 1
            state["mean"].mul_(0.5).add_(parameter.grad)
            parameter.sub_(state["mean"] / state["scale"], alpha=0.1)
            state["last"] = state["mean"] * 2


@pytest.mark.parametrize("before", [0, 1])
def test_state_that_each_step_overwrites_is_scratch(before: int) -> None:
    """With a first step that finds none of it, and with later ones."""
    exported, eager = (made(lambda: Step(mlp(), lambda p: KeepsItsLast(p, {})), rows, before) for _ in range(2))
    program = dynamo_lite.export(exported, rows(0))
    run = program.module()
    for call in range(5):
        torch.testing.assert_close(run(*rows(call)), eager(*rows(call)), rtol=1e-5, atol=1e-5)
    assert not any("last" in name or "scale" in name for name in run.state_dict())


def refused_state(optimizer: Callable[[Any], optim.Optimizer]) -> None:
    with pytest.raises(dynamo_lite.UnsupportedEffect, match="take one step before the export") as caught:
        dynamo_lite.export(Step(mlp(), optimizer), rows(0))
    assert caught.value.id == "optimizer-state"
    compare(lambda: Step(mlp(), optimizer), before=1)


def doubled(parameter: Tensor) -> None:
    parameter.mul_(2)


REFUSED: dict[str, Callable[[Any], optim.Optimizer]] = {
    "dampening": OPTIMIZERS["momentum"],
    "of the parameter": lambda p: Begins(p, torch.clone),
    "of the gradient": lambda p: Begins(p, lambda each: each.grad * 2),
    "another effect": lambda p: Begins(p, torch.zeros_like, doubled),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_first_step_that_is_unlike_later_ones_is_refused(name: str) -> None:
    refused_state(REFUSED[name])


def test_memory_that_the_first_step_reaches_in_another_way() -> None:
    class Written(Begins):
        """The stored tensor is a view of one that is changed afterwards."""

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:  # type: ignore[override]
            for parameter in self.param_groups[0]["params"]:
                state = self.state[parameter]
                if not state:
                    memory = torch.zeros(2, *parameter.shape)
                    state["mean"] = memory[0]
                    memory.add_(1)
                state["mean"].mul_(0.5).add_(parameter.grad)
                parameter.sub_(state["mean"], alpha=0.1)

    refused_state(lambda p: Written(p, torch.zeros_like))


def test_dropped_effects_leave_a_first_step() -> None:
    def make() -> Step:
        return Step(mlp(), OPTIMIZERS["momentum"])

    program = dynamo_lite.export(made(make, rows, 0), rows(0), effects="drop").module()
    eager = made(make, rows, 0)
    for call in range(3):
        eager.optimizer.state.clear()
        torch.testing.assert_close(program(*rows(call)), eager(*rows(call)))


def test_a_guard_is_on_what_the_first_step_alone_reads() -> None:
    trace = dynamo_lite.trace(made(lambda: Step(mlp(), FRESH["rprop"]), rows, 0), rows(0))
    other = Step(mlp(), FRESH["rprop"])
    assert trace.guards.check(other, rows(0), weights="any") is None
    other.optimizer.param_groups[0]["lr"] = 0.5  # the size of the first step
    assert "lr" in str(trace.guards.check(other, rows(0), weights="any"))


def test_a_condition_on_sizes_of_the_first_step_alone() -> None:
    class Sized(Begins):
        @torch.no_grad()
        def step(self, x: Tensor) -> None:  # type: ignore[override]
            for parameter in self.param_groups[0]["params"]:
                state = self.state[parameter]
                if not state:
                    state["mean"] = torch.ones_like(parameter) if x.shape[0] > 4 else torch.zeros_like(parameter)
                state["mean"].mul_(0.5).add_(parameter.grad)
                parameter.sub_(state["mean"], alpha=0.1)

    class Given(Step):
        def forward(self, x: Tensor) -> Any:
            self.optimizer.zero_grad()
            loss = self.loss(x)
            loss.backward()
            self.optimizer.step(x)
            return loss.detach()

    module = Given(mlp(), lambda p: Sized(p, torch.zeros_like))
    shapes = {"x": {0: torch.export.Dim("n", min=1)}}
    with pytest.raises(dynamo_lite.UnsupportedEffect, match="makes its state") as caught:
        dynamo_lite.export(module, rows(0), dynamic_shapes=shapes)
    assert caught.value.id == "optimizer-state"
    dynamo_lite.export(module, rows(0))  # a size that is constant


def test_a_gradient_that_is_constant_is_no_constant_state() -> None:
    class Sum(Step):
        def loss(self, x: Tensor) -> Tensor:
            return self.net(x).mean()

    compare(lambda: Sum(nn.Linear(3, 1), FRESH["undamped"]))


def test_a_second_optimizer_that_is_fresh() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.maker, self.judge = mlp(), nn.Linear(4, 1)
            self.optimizer = optim.Adam(self.maker.parameters(), 0.01)
            self.other = optim.SGD(self.judge.parameters(), 0.01, momentum=0.9)

        def forward(self, x: Tensor) -> Any:
            self.optimizer.zero_grad()
            made = self.maker(x)
            loss = -self.judge(made).mean()
            loss.backward()
            self.optimizer.step()
            self.other.zero_grad()
            other = self.judge(made.detach()).sigmoid().mean()
            other.backward()
            self.other.step()
            return loss.detach(), other.detach()

    compare(Two)


def test_the_first_of_the_steps_may_be_one_without_gradients_for_a_part() -> None:
    class Frozen(Step):
        def forward(self, x: Tensor) -> Any:
            self.optimizer.zero_grad()
            with torch.no_grad():
                x = self.net[0](x)
            loss = self.net[2](self.net[1](x)).pow(2).mean()
            loss.backward()
            self.optimizer.step()
            return loss.detach()

    compare(lambda: Frozen(mlp(), FRESH["adam"]))


class Lion(optim.Optimizer):
    """An optimizer of a third party, in plain Python."""

    def __init__(self, parameters: Any, lr: float = 0.01) -> None:
        super().__init__(parameters, {"lr": lr, "betas": (0.9, 0.99)})
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter]["mean"] = torch.zeros_like(parameter)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            first, second = group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                mean = self.state[parameter]["mean"]
                parameter.add_(mean.lerp(parameter.grad, 1 - first).sign_(), alpha=-group["lr"])
                mean.lerp_(parameter.grad, 1 - second)


def test_an_optimizer_in_plain_python() -> None:
    program = compare(lambda: Step(mlp(), Lion))
    assert "optimizer.state.0.mean" in program.state_dict


class Classifier(Step):
    def forward(self, x: Tensor, y: Tensor) -> Any:  # type: ignore[override]
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.net(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def images(call: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(call)
    return torch.randn(4, 1, 6, 6, generator=generator), torch.randint(0, 3, (4,), generator=generator)


def convolutions() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))


def test_a_batch_norm_in_train_mode() -> None:
    compare(lambda: Classifier(convolutions(), OPTIMIZERS["adamw"]), images, before=1)


def tokens(call: int) -> tuple[Tensor]:
    return (torch.randint(0, 50, (2, 8), generator=torch.Generator().manual_seed(call)),)


def test_a_gpt2() -> None:
    transformers = pytest.importorskip("transformers")
    sizes = {"n_layer": 2, "n_head": 2, "n_embd": 16, "vocab_size": 50, "n_positions": 16}
    config = transformers.GPT2Config(**sizes, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)

    class Language(Step):
        def forward(self, x: Tensor) -> Any:
            self.optimizer.zero_grad()
            loss = self.net(input_ids=x, labels=x).loss
            loss.backward()
            nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.optimizer.step()
            return loss.detach()

    compare(lambda: Language(transformers.GPT2LMHeadModel(config), OPTIMIZERS["adamw"]), tokens, before=1)


@pytest.mark.parametrize("name", ["sgd", "nesterov", "adamw"])
def test_the_decomposed_program_goes_on(name: str) -> None:
    def make() -> nn.Module:
        return Step(mlp(), OPTIMIZERS[name])

    program = dynamo_lite.export(made(make, rows, 1), rows(0)).run_decompositions()
    kinds = [spec.kind.name for spec in program.graph_signature.output_specs]
    assert kinds.count("PARAMETER_MUTATION") == 4
    with torch.no_grad():  # torch copies the new values into the parameters
        losses = [program.module()(*rows(call)) for call in range(20)]
    eager = made(make, rows, 1)
    torch.testing.assert_close(losses, [eager(*rows(call)) for call in range(20)], rtol=1e-5, atol=1e-5)


_CONTINUE = """
import sys, torch
program = torch.export.load(sys.argv[1])
run = program.module()
losses = [run(torch.randn(6, 3, generator=torch.Generator().manual_seed(call))) for call in range(10, 20)]
torch.save((losses, dict(run.state_dict())), sys.argv[2])
"""


def test_another_process_goes_on(tmp_path: Path) -> None:
    def make() -> nn.Module:
        return Step(mlp(), OPTIMIZERS["adamw"])

    program, eager = dynamo_lite.export(made(make, rows, 1), rows(0)), made(make, rows, 1)
    follow(program.module(), eager, rows, range(10))
    torch.export.save(program, tmp_path / "step.pt2")
    names = [str(tmp_path / name) for name in ("step.pt2", "after.pt")]
    subprocess.run([sys.executable, "-c", _CONTINUE, *names], check=True)
    losses, state = torch.load(tmp_path / "after.pt")
    torch.testing.assert_close(losses, [eager(*rows(call)) for call in range(10, 20)], rtol=1e-5, atol=1e-5)
    for name, value in eager.state_dict().items():
        torch.testing.assert_close(state[name], value, rtol=1e-5, atol=1e-5)


def test_an_optimizer_of_other_parameters_is_noted() -> None:
    class Mistaken(Step):
        def __init__(self) -> None:
            super().__init__(mlp())
            self.optimizer = optim.SGD(mlp().parameters(), 0.1)

        def forward(self, x: Tensor) -> Any:
            loss = self.loss(x)
            loss.backward()
            self.optimizer.step()
            self.net.zero_grad()
            return loss.detach()

    compare(Mistaken)
    notes = dynamo_lite.trace(Mistaken(), rows(0)).notes
    assert [text for text in notes if "step() changes nothing" in text]


@given(st.floats(0, 1, width=32), st.floats(width=32))
@example(0.0, -0.0)
@example(1.0, float("inf"))
def test_what_is_added_to_negative_zero_is_itself(momentum: float, gradient: float) -> None:
    """What capture/comparison/neutral_buffers.py rests on, to the last bit."""
    buffer, added = torch.full((9,), -0.0), torch.full((9,), gradient)
    expected = added.clone().view(torch.int32)
    assert torch.equal(buffer.mul_(momentum).add_(added).view(torch.int32), expected)


class _Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase], **options: Any) -> None:
        super().__init__()
        self.rnn = kind(3, 4, batch_first=True, **options)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.rnn(x[:, None].expand(-1, 3, -1))[0]
        return output


@pytest.mark.parametrize("name", ["sgd", "undamped", "adam"])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True}, {"num_layers": 2}])
def test_an_lstm_with_a_fresh_optimizer(name: str, options: dict[str, Any]) -> None:
    """The kernel of its backward returns the gradient of both biases as one tensor."""
    compare(lambda: Step(_Recurrent(nn.LSTM, **options), FRESH[name]))


def _step_of(optimizer: str) -> tuple[Callable[[Tensor], Tensor], nn.Module, list[Tensor]]:
    """A step that is a plain function, over a model with batch norm and two kinds of averages of its weights."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    average = copy.deepcopy(model).requires_grad_(False)
    means = [parameter.detach().clone() for parameter in model.parameters()]
    made = FRESH[optimizer](model.parameters())

    def step(x: Tensor) -> Tensor:
        made.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        made.step()
        with torch.no_grad():
            for theirs, mean, parameter in zip(average.parameters(), means, model.parameters()):
                theirs.lerp_(parameter, 0.1)
                mean.mul_(0.9).add_(parameter, alpha=0.1)
        return loss.detach() + average(x).detach().mean()

    return step, model, [*average.state_dict().values(), *means]


@pytest.mark.parametrize("name", ["sgd", "adam", "nadam"])
def test_a_function_over_a_model_with_statistics_and_averages(name: str) -> None:
    step, model, averages = _step_of(name)
    eager, other_model, other_averages = _step_of(name)
    module = dynamo_lite.export(step, rows(0)).module()
    for call in range(20):
        torch.testing.assert_close(module(*rows(call)), eager(*rows(call)), rtol=1e-5, atol=1e-5)
    found = [*model.state_dict().values(), *averages]
    for one, other in zip(found, [*other_model.state_dict().values(), *other_averages], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
