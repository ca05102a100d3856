"""Sizes and strides changed in place, and namespaces that exec and eval write into"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tests.export.probe import Probe, equal, refused, sound, t


class Held(nn.Module):
    """A buffer, and what a program does with it."""

    def __init__(self, program: Callable[..., Any]) -> None:
        super().__init__()
        self.register_buffer("b", torch.zeros(2, 3))
        self.program = program

    def forward(self, x: Tensor) -> Any:
        return x * self.program(self.b, x)


def _reshapes(change: Callable[[Tensor, Tensor], Any]) -> Callable[[], Any]:
    def program(b: Tensor, x: Tensor) -> int:
        change(b, x)
        return b.dim() * 100 + b.shape[0] * 10 + b.stride(-1)

    return lambda: (Held(program), (t(2, 3),))


def _named(kind: Any, build: Any, name: str) -> Probe:
    def made() -> Any:
        return build()

    made.__name__ = name
    return kind(made)


REFUSED: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "unsqueeze": lambda b, x: b.unsqueeze_(0),
    "transpose": lambda b, x: b.t_(),
    "swapaxes": lambda b, x: b.swapaxes_(0, 1),
    "resize": lambda b, x: b.resize_(4, 4),
    "out_of_another_size": lambda b, x: torch.cat([x, x], out=b),
}
KEPT: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "swapped_with_itself": lambda b, x: b.swapaxes_(0, 0),
    "a_view_of_it": lambda b, x: b.view(6).unsqueeze_(0),
    "detached": lambda b, x: b.detach().unsqueeze_(0),
    "out_of_its_size": lambda b, x: torch.add(x, 1, out=b),
    "an_argument": lambda b, x: x.unsqueeze_(0),
}
for _name, _change in REFUSED.items():
    globals()[f"buffer_{_name}"] = _named(refused("tensor-reshaped"), _reshapes(_change), f"buffer_{_name}")
for _name, _change in KEPT.items():
    globals()[f"kept_{_name}"] = _named(equal, _reshapes(_change), f"kept_{_name}")


@refused("python-state")
def exec_in_a_bare_namespace() -> Any:
    """CPython puts __builtins__ into it, which makes the garbage collector see the dict for the first time."""
    names = {"n": 0}

    def program(x: Tensor) -> Tensor:
        exec("n += 1", names)
        return x * names["n"]

    return program, (t(3),)


@refused("python-state")
def exec_of_a_global_statement() -> Any:
    names = {"n": 0}

    def program(x: Tensor) -> Tensor:
        exec("global n\nn += 1", names)
        return x * names["n"]

    return program, (t(3),)


@sound("python-state")
def eval_in_a_bare_namespace() -> Any:
    names = {"n": 2}

    def program(x: Tensor) -> Tensor:
        return x * eval("n + 1", names)

    return program, (t(3),)


@equal
def exec_in_a_namespace_of_its_own() -> Any:
    def program(x: Tensor) -> Tensor:
        names = {"n": 0}
        exec("n += 1", names)
        return x * names["n"]

    return program, (t(3),)
