"""torch.optim, run as it is written: parameters, state and losses of twenty steps against eager."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
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


@pytest.mark.parametrize("name", ["momentum", "adam", "adamw foreach", "rmsprop"])
def test_state_that_the_first_step_makes_is_refused(name: str) -> None:
    with pytest.raises(dynamo_lite.UnsupportedEffect, match="take one step before the export") as caught:
        dynamo_lite.export(Step(mlp(), OPTIMIZERS[name]), rows(0))
    assert caught.value.id == "optimizer-state"


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
