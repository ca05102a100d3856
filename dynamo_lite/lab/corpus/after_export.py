"""After the export: weights loaded, moved, trained; buffers set. Eager's module is treated in the same way."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from dynamo_lite.lab.programs import Example, program, t


class Scaled(nn.Module):
    """A parameter, a buffer, a buffer that is not saved, a tensor attribute, and a float made of them at first."""

    b: torch.Tensor
    c: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(t(3))
        self.register_buffer("b", t(3))
        self.register_buffer("c", t(3), persistent=False)
        self.plain = torch.full((3,), 2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.w + self.b) * self.plain + self.c


def _after(change: Any, module: nn.Module | None = None, **options: Any) -> Example:
    return Example(module or Scaled(), (t(3),), after=change, **options)


@program("a state_dict is loaded")
def load_state_dict() -> Example:
    def load(m: nn.Module) -> None:
        m.load_state_dict({name: torch.full_like(value, 3.0) for name, value in m.state_dict().items()})

    return _after(load)


@program("a parameter is changed in place")
def parameter_in_place() -> Example:
    def change(m: nn.Module) -> None:
        with torch.no_grad():
            for p in m.parameters():
                p.mul_(5)

    return _after(change)


@program("the data of a parameter are set")
def parameter_data() -> Example:
    def change(m: nn.Module) -> None:
        for p in m.parameters():
            p.data = torch.ones(3)

    return _after(change)


@program("a parameter is replaced")
def parameter_replaced() -> Example:
    def change(m: nn.Module) -> None:
        m.w = nn.Parameter(torch.ones(3))

    return _after(change)


@program("a buffer is replaced")
def buffer_replaced() -> Example:
    def change(m: nn.Module) -> None:
        m.b = torch.ones(3)

    return _after(change)


@program("double() of the module")
def double() -> Example:
    return Example(Scaled(), (t(3),), after=lambda m: m.double(), also=[((t(3).double(),), {})])


@program("gradients switched off")
def requires_grad_off() -> Example:
    return _after(lambda m: m.requires_grad_(False))


@program("gradients switched on, of a module that was frozen")
def requires_grad_on() -> Example:
    return _after(lambda m: m.requires_grad_(True), Scaled().requires_grad_(False), gradients=True)


@program("eval() after an export in training mode")
def eval_after() -> Example:
    return Example(nn.Dropout(0.5).train(), (t(8),), after=lambda m: m.eval())


@program("a step of an optimizer")
def optimizer_step() -> Example:
    def step(m: nn.Module) -> None:
        for p in m.parameters():
            p.grad = torch.ones_like(p)
        torch.optim.SGD(m.parameters(), lr=0.5).step()

    return _after(step, gradients=True)


@program("two names of one parameter, one of them written")
def tied() -> Example:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 3, bias=False)
            self.second = nn.Linear(3, 3, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.second(self.first(x).relu())

    def change(m: nn.Module) -> None:
        with torch.no_grad():
            next(iter(m.parameters())).mul_(2)

    return _after(change, Tied(), gradients=True)


@program("a buffer that forward counts, set back")
def counter_reset() -> Example:
    class Steps(nn.Module):
        steps: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("steps", torch.tensor(5.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.steps += 1
            return x / self.steps

    def change(m: Any) -> None:
        m.steps.zero_()

    return _after(change, Steps())


@program("a copy of the program, with state of its own")
def copied() -> Example:
    def change(m: nn.Module) -> None:
        other = copy.deepcopy(m)
        with torch.no_grad():
            for value in (*other.parameters(), *other.buffers()):
                value.zero_()

    return _after(change)


@program("zero_grad, and gradients that accumulate")
def zero_grad() -> Example:
    return _after(lambda m: m.zero_grad(), gradients=True)
