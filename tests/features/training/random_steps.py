"""Random steps of training: parts of models × losses × optimizers and their options × accumulation, clipping, averages,
hooks of parameters, branches on data in the model and around the step.

`make(seed)` returns a function that makes the step anew; `verdict(seed)` compares four calls of program and eager.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError

WIDTH = 6


class _Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = F.linear(self.layer(x).tanh(), self.layer.weight.t())
        return y


class _Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = x + F.gelu(self.inner(self.norm(x)))
        return y


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.rnn(x[:, None].expand(-1, 2, -1))[0][:, -1]
        return y


class _Gated(nn.Module):
    """A Python number and a buffer that each call changes."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.full((WIDTH,), 0.1))
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.seen += x.shape[0]
        return x * (1 + self.gate).clamp(min=0.5)


class _Chosen(nn.Module):
    """A layer that runs if the data says so."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            x = x + self.layer(x).tanh()
        return x


PARTS: tuple[Callable[[], nn.Module], ...] = (
    lambda: nn.Linear(WIDTH, WIDTH), lambda: nn.Linear(WIDTH, WIDTH, bias=False), nn.ReLU, nn.Tanh, nn.SiLU,
    lambda: nn.BatchNorm1d(WIDTH), lambda: nn.LayerNorm(WIDTH), lambda: nn.Dropout(0.3), lambda: nn.PReLU(WIDTH),
    _Tied, _Residual, _Recurrent, _Gated,
)  # fmt: skip
OPTIMIZERS: tuple[Callable[[Any, random.Random], optim.Optimizer], ...] = (
    lambda p, r: optim.SGD(p, 0.05, foreach=r.choice((None, False))),
    lambda p, r: optim.SGD(p, 0.05, momentum=0.9, nesterov=r.random() < 0.5, weight_decay=r.choice((0, 0.01))),
    lambda p, r: optim.Adam(p, 0.01, amsgrad=r.random() < 0.5, foreach=r.choice((None, False, True))),
    lambda p, r: optim.AdamW(p, 0.01, weight_decay=0.1, maximize=r.random() < 0.2, capturable=False),
    lambda p, r: optim.AdamW(p, 0.01, fused=True),
    lambda p, r: optim.RMSprop(p, 0.01, centered=r.random() < 0.5, momentum=r.choice((0, 0.9))),
    lambda p, r: optim.Adagrad(p, 0.05, lr_decay=r.choice((0, 0.01))),
    lambda p, r: optim.NAdam(p, 0.01),
    lambda p, r: optim.RAdam(p, 0.01),
    lambda p, r: optim.Adamax(p, 0.01),
    lambda p, r: optim.Adadelta(p, 0.5),
    lambda p, r: optim.Rprop(p, 0.01),
)
LOSSES: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    lambda y, t: F.mse_loss(y, t),
    lambda y, t: F.smooth_l1_loss(y, t, reduction="sum"),
    lambda y, t: F.cross_entropy(y, t.argmax(-1)),
    lambda y, t: -(t.softmax(-1) * y.log_softmax(-1)).sum(-1).mean(),
    lambda y, t: F.huber_loss(y, t) + 1e-3 * y.pow(2).mean(),
)


def _clamp(parameter: Tensor) -> None:
    assert parameter.grad is not None
    parameter.grad.clamp_(-0.1, 0.1)


class RandomStep(nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        rng, more = random.Random(seed), random.Random(~seed)
        parts = [rng.choice(PARTS)() for _ in range(rng.randint(1, 4))]
        has_branch = more.random() < 0.1
        if has_branch:
            parts.append(_Chosen())
        self.net = nn.Sequential(nn.Linear(WIDTH, WIDTH), *parts)
        self.loss = rng.choice(LOSSES)
        if rng.random() < 0.2:
            self.net[0].requires_grad_(False)
        self.trained = [parameter for parameter in self.net.parameters() if parameter.requires_grad]
        if not self.trained:
            self.net[0].requires_grad_(True)
            self.trained = [*self.net[0].parameters()]
        groups: Any = self.trained
        if len(self.trained) > 2 and rng.random() < 0.3:
            groups = [{"params": self.trained[:1], "lr": 0.002}, {"params": self.trained[1:]}]
        self.optimizer = rng.choice(OPTIMIZERS)(groups, rng)
        self.rounds = rng.choice((1, 1, 1, 2, 3))
        self.clip = rng.choice((None, None, "norm", "value"))
        self.to_none, self.late = rng.random() < 0.7, rng.random() < 0.3
        self.autocast = rng.random() < 0.2 and not has_branch
        self.average = copy.deepcopy(self.net).requires_grad_(False) if rng.random() < 0.2 else None
        self.scheduled = rng.random() < 0.2
        self.penalty = rng.random() < 0.15
        self.skips = more.random() < 0.15
        hook = more.choice(("scale", "clamp", *[None] * 6))
        if hook == "scale":
            self.trained[0].register_hook(lambda gradient: gradient * 0.5)
        elif hook == "clamp":
            self.trained[-1].register_post_accumulate_grad_hook(_clamp)

    def losses(self, x: Tensor, target: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16) if self.autocast else nullcontext():
            y = self.net(x)
        loss = self.loss(y.float(), target)
        if self.penalty:
            loss = loss + 1e-3 * sum(parameter.pow(2).sum() for parameter in self.trained)
        return loss / self.rounds

    def forward(self, x: Tensor, target: Tensor) -> Any:
        if not self.late:
            self.optimizer.zero_grad(set_to_none=self.to_none)
        total = torch.zeros(())
        for part, goal in zip(x.chunk(self.rounds), target.chunk(self.rounds)):
            loss = self.losses(part, goal)
            loss.backward()
            total = total + loss.detach()
        norm = None
        if self.clip == "norm":
            norm = nn.utils.clip_grad_norm_(self.trained, 1.0)
        elif self.clip == "value":
            nn.utils.clip_grad_value_(self.trained, 0.1)
        if not self.skips or x[0].sum() > 0:
            self.optimizer.step()
        if self.late:
            self.optimizer.zero_grad(set_to_none=self.to_none)
        if self.average is not None:
            with torch.no_grad():
                for mine, theirs in zip(self.average.parameters(), self.net.parameters()):
                    mine.lerp_(theirs, 0.05)
        return (total, norm) if norm is not None else total


def inputs(call: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(call)
    return torch.randn(6, WIDTH, generator=generator), torch.randn(6, WIDTH, generator=generator)


def made(seed: int) -> RandomStep:
    torch.manual_seed(seed)
    return RandomStep(seed)


def verdict(seed: int, calls: int = 4, before: int = 0) -> str:
    """ "equal", "refused: id", or "wrong: what". before: steps that are taken before the export."""
    exported, eager = made(seed), made(seed)
    for call in range(before):
        for module in (exported, eager):
            torch.manual_seed(call)
            module(*inputs(1000 + call))
    before = [value.clone() for value in exported.state_dict().values()]
    try:
        run = dynamo_lite.export(exported, inputs(0)).module()
    except DynamoLiteError as error:
        return f"refused: {error.id}"
    if not all(map(torch.equal, before, exported.state_dict().values())):
        return "wrong: the export changed the state"
    for call in range(calls):
        torch.manual_seed(call)
        expected = eager(*inputs(call))
        torch.manual_seed(call)
        found = run(*inputs(call))
        try:
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
        except AssertionError as error:
            return f"wrong: call {call}: {str(error).splitlines()[0]}"
    state = run.state_dict()
    for name, value in eager.state_dict().items():
        if not torch.allclose(state[name].float(), value.float(), rtol=1e-4, atol=1e-5, equal_nan=True):
            return f"wrong: {name}"
    return "equal"
