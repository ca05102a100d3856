"""Steps of training, compared with eager: twenty calls of program and module, with equal inputs and seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import dynamo_lite

Inputs = Callable[[int], tuple[Any, ...]]


def rows(call: int) -> tuple[Tensor]:
    return (torch.randn(6, 3, generator=torch.Generator().manual_seed(call)),)


class Step(nn.Module):
    """A step over `self.net`; `before` steps are taken before the export."""

    def __init__(self, net: nn.Module, optimizer: Callable[[Any], torch.optim.Optimizer] | None = None) -> None:
        super().__init__()
        self.net = net
        make = optimizer or (lambda parameters: torch.optim.SGD(parameters, lr=0.1))
        self.optimizer = make([*net.parameters()])

    def loss(self, x: Tensor) -> Tensor:
        return self.net(x).pow(2).mean()

    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        loss = self.loss(x)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 4))


def made(make: Callable[[], nn.Module], inputs: Inputs, before: int) -> nn.Module:
    torch.manual_seed(0)
    module = make()
    for call in range(before):
        module(*inputs(1000 + call))
    return module


def state_of_optimizers(module: nn.Module) -> dict[str, Tensor]:
    """The tensors in the state of a module's optimizers, under the names that the program has for them."""
    found: dict[str, Tensor] = {}
    optimizers = [value for value in vars(module).values() if isinstance(value, torch.optim.Optimizer)]
    for count, optimizer in enumerate(optimizers):
        prefix = f"optimizer_{count}" if count else "optimizer"
        for number, row in optimizer.state_dict()["state"].items():
            found |= {f"{prefix}.state.{number}.{key}": v for key, v in row.items() if isinstance(v, Tensor)}
    return found


def compare(make: Callable[[], nn.Module], inputs: Inputs = rows, before: int = 0) -> Any:
    """Export a step and compare outputs, parameters, buffers and the state of optimizers. Returns the program.

    The export may leave nothing: neither other weights nor other gradients."""
    exported, eager = (made(make, inputs, before) for _ in range(2))
    found = {name: (value.clone(), value.grad) for name, value in exported.named_parameters()}
    program = dynamo_lite.export(exported, inputs(0))
    for name, value in exported.named_parameters():
        assert torch.equal(value, found[name][0]) and value.grad is found[name][1]
    run = program.module()
    follow(run, eager, inputs, range(20))
    return program


def follow(run: Any, eager: nn.Module, inputs: Inputs, calls: range) -> None:
    """Compare calls of a program and of eager, and the state after them."""
    for call in calls:
        torch.manual_seed(call)
        expected = eager(*inputs(call))
        torch.manual_seed(call)
        torch.testing.assert_close(run(*inputs(call)), expected, rtol=1e-5, atol=1e-5, equal_nan=True)
    state = run.state_dict()
    for name, value in {**eager.state_dict(), **state_of_optimizers(eager)}.items():
        torch.testing.assert_close(state[name], value, rtol=1e-5, atol=1e-5, msg=name)
