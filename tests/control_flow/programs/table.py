"""The table of programs: a module, inputs that take each way through it, and what export says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

PROGRAMS: dict[str, Program] = {}

POS, NEG = torch.ones(3, 2), -torch.ones(3, 2)
MIX = torch.tensor([[1.0, -2.0], [3.0, 0.5], [-1.0, 2.0]])
SIGNS = ((POS,), (NEG,), (MIX,))
"""Inputs whose sums, largest and least elements differ in sign."""


@dataclass(frozen=True)
class Program:
    """`refused` is the id of the refusal; None if the program equals eager on all `inputs`."""

    make: Callable[[], torch.nn.Module]
    inputs: tuple[tuple[Any, ...], ...]
    refused: str | None
    options: dict[str, Any]
    no_grad: bool


def call(*args: Any) -> tuple[Any, ...]:
    """The arguments of one call."""
    return args


def program(
    *inputs: tuple[Any, ...], refused: str | None = None, kw: dict[str, Any] | None = None, no_grad: bool = False
) -> Callable[[Any], Any]:
    """Put a module into the table, under its name. The first inputs are the example."""

    def add(cls: Any) -> Any:
        assert cls.__name__ not in PROGRAMS
        PROGRAMS[cls.__name__] = Program(cls, inputs, refused, kw or {}, no_grad)
        return cls

    return add
