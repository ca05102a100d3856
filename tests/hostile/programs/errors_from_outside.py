"""Errors from before the call that the program raises: their traceback grows with each call."""

from __future__ import annotations

import re
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tests.export.probe import Probe, equal, refused, t


class _Holder(nn.Module):
    def __init__(self, kept: Any, run: Callable[..., Any]) -> None:
        super().__init__()
        self.kept = kept
        self.run = run

    def forward(self, x: torch.Tensor) -> Any:
        return self.run(self.kept, x)


def _seen(run: Callable[..., Any]) -> Probe:
    def build() -> Any:
        return _Holder(ValueError(1), run), (t(3, 4),)

    build.__name__ = run.__name__
    return refused("python-state")(build)


@equal
def raised_and_caught():
    def run(error, x):
        try:
            raise error
        except ValueError as e:
            return x * e.args[0]

    return _Holder(ValueError(2), run), (t(3, 4),)


@_seen
def traceback_before(error, x):
    fresh = error.__traceback__ is None
    try:
        raise error
    except ValueError:
        return x * fresh


@_seen
def traceback_by_descriptor(error, x):
    fresh = BaseException.__traceback__.__get__(error) is None
    try:
        raise error
    except ValueError:
        return x * fresh


@_seen
def traceback_walked(error, x):
    try:
        raise error
    except ValueError as e:
        return x * len(list(traceback.walk_tb(e.__traceback__)))


@_seen
def traceback_formatted(error, x):
    try:
        raise error
    except ValueError:
        return x * len(traceback.format_exc())


@_seen
def traceback_of_exc_info(error, x):
    depth = 0
    try:
        raise error
    except ValueError:
        at = sys.exc_info()[2]
        while at is not None:
            depth, at = depth + 1, at.tb_next
    return x * depth


@_seen
def traceback_in_exit(error, x):
    class Counts:
        depth = 0

        def __enter__(self):
            return self

        def __exit__(self, kind, raised, at):
            while at is not None:
                self.depth, at = self.depth + 1, at.tb_next
            return True

    with Counts() as counts:
        raise error
    return x * counts.depth


@_seen
def context_before(error, x):
    fresh = error.__context__ is None
    try:
        try:
            raise KeyError
        except KeyError:
            raise error  # noqa: B904
    except ValueError:
        return x * fresh


@_seen
def thrown_into_a_generator(error, x):
    def generator():
        try:
            yield 1
        except ValueError as e:
            yield 2 if e.__traceback__.tb_next is None else 3

    running = generator()
    next(running)
    return x * running.throw(error)


@refused("python-state")
def cell_by_descriptor():
    def run(cell, x):
        count = types.CellType.cell_contents.__get__(cell)
        cell.cell_contents = count + 1
        return x * count

    return _Holder(types.CellType(1), run), (t(3, 4),)


@refused("outside-object")
def position_of_a_scanner():
    def run(scanner, x):
        return x * scanner.match().end()

    return _Holder(re.compile("a").scanner("aaaaaaaa"), run), (t(3, 4),)
