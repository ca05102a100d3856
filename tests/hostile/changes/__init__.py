"""Programs that read state, with changes of that state: one file a class of readings.

A row is a function that builds a fresh `Changes`; `@row` registers it. The tests are in ../test_guards.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import torch

Change = Callable[[], Any]
"""Makes one change. What it returns, if callable, undoes it (for state of the process)."""


@dataclass
class Changes:
    """A program, and changes of the state that it reads.

    `told` are changes after which eager gives another answer: a guard must fail. `held` are changes after which it
    gives the same: no guard may fail.
    """

    program: Any
    told: Mapping[str, Change]
    held: Mapping[str, Change] = field(default_factory=dict)
    args: tuple[Any, ...] = field(default_factory=lambda: (torch.arange(6.0).reshape(2, 3) + 1,))


Row = Callable[[], Changes]
ROWS: dict[str, Row] = {}


def row(build: Row) -> Row:
    """Register a row."""
    ROWS[f"{build.__module__.rpartition('.')[2]}.{build.__name__}"] = build
    return build


def all_rows() -> dict[str, Row]:
    """The rows of all files by name."""
    for info in iter_modules(__path__):
        import_module(f"{__name__}.{info.name}")
    return ROWS


def setter(owner: Any, name: str, value: Any) -> Change:
    """Assigns an attribute."""
    return lambda: setattr(owner, name, value)


def item(owner: Any, key: Any, value: Any) -> Change:
    """Assigns an item."""
    return lambda: owner.__setitem__(key, value)


class Box:
    """An object with some attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Module(torch.nn.Module):
    """A module with some attributes, whose forward is a function of it and the tensor."""

    def __init__(self, forward: Callable[..., Any], **attributes: Any) -> None:
        super().__init__()
        self.held = Box(**attributes)
        self.run = forward

    def forward(self, x: torch.Tensor) -> Any:
        return self.run(self.held, x)
