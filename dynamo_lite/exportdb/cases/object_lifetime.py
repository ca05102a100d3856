"""Weak references and exceptions

Objects die in a trace when they die in CPython, so weak references and `__del__` answer as in eager. An exception is
different: its traceback keeps the variables of each function that it left, which a trace does not.
"""

from __future__ import annotations

import weakref

import torch
from torch import Tensor, nn

TAGS = ("python", "exceptions")
ERROR = "object-lifetime"


class Session:
    pass


def work(sessions: list[weakref.ref[Session]]) -> None:
    session = Session()
    sessions.append(weakref.ref(session))
    raise ValueError


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        sessions: list[weakref.ref[Session]] = []
        try:
            work(sessions)  # stops here
        except ValueError:
            return x + 1 if sessions[0]() is not None else x - 1
        return x


class Rewrite(nn.Module):
    """Nothing depends on when an object dies."""

    def forward(self, x: Tensor) -> Tensor:
        return x + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
