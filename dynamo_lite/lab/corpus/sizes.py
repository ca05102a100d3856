"""Sizes that vary: arithmetic, branches, loops, ranges, equalities."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from dynamo_lite.lab.programs import Args, Example, program, t

DIM = torch.export.Dim


def _calls(*sizes: int) -> list[Args]:
    return [((t(n, 2),), {}) for n in sizes]


def _auto(forward: Any, *later: int, example: int = 4) -> Example:
    """The first size may vary (Dim.AUTO); the calls have other sizes."""
    return Example(forward, (t(example, 2),), dynamic_shapes=({0: DIM.AUTO},), also=_calls(*later))


@program("a mean by the size")
def mean() -> Example:
    return _auto(lambda x: x.sum(0) / x.shape[0], 1, 2, 7)


@program("half of the rows, by integer division")
def half() -> Example:
    return _auto(lambda x: x[: x.shape[0] // 2], 1, 5, 6)


@program("a size read by len() and made a Python float")
def float_of_size() -> Example:
    return _auto(lambda x: x / math.sqrt(len(x)), 1, 9)


@program("a branch on the size")
def branch() -> Example:
    return _auto(lambda x: x.sum(0) if x.shape[0] > 5 else x.mean(0), 6, 2, 5)


@program("a branch on whether the size is even")
def even() -> Example:
    return _auto(lambda x: x * 2 if x.shape[0] % 2 == 0 else x * 3, 3, 6)


@program("a loop over the rows")
def loop() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x[0] * 0
        for i in range(x.shape[0]):
            y = y + x[i] * i
        return y

    return _auto(forward, 2, 6, 1)


@program("iterating over a tensor")
def iterated() -> Example:
    return _auto(lambda x: sum(row * (i + 1) for i, row in enumerate(x)), 2, 6)


@program("chunks whose number depends on the size")
def chunks() -> Example:
    return _auto(lambda x: torch.stack([part.sum() for part in x.split(2)]), 5, 6, 2)


@program("a size of one, which broadcasts")
def one() -> Example:
    return _auto(lambda x: x + torch.ones(4, 2), 4, 1)


@program("two sizes that the example has equal")
def equal_by_chance() -> Example:
    shapes = ({0: DIM.AUTO}, {0: DIM.AUTO})
    also: list[Args] = [((t(4), t(5)), {}), ((t(2), t(2)), {})]
    return Example(lambda x, y: torch.outer(x, y), (t(4), t(4)), dynamic_shapes=shapes, also=also)


@program("two sizes that an addition makes equal")
def equal_by_addition() -> Example:
    shapes = ({0: DIM.AUTO}, {0: DIM.AUTO})
    also: list[Args] = [((t(6), t(6)), {}), ((t(4), t(1)), {})]
    return Example(lambda x, y: x + y, (t(4), t(4)), dynamic_shapes=shapes, also=also)


@program("a reshape that needs an even size")
def reshaped() -> Example:
    return _auto(lambda x: x.view(-1, 4), 6, 3)


@program("padding up to a multiple")
def padded() -> Example:
    return _auto(lambda x: nn.functional.pad(x, (0, 0, 0, -x.shape[0] % 4)), 5, 8, 3)


@program("a size as a Python value: a key of a dict")
def key() -> Example:
    return _auto(lambda x: x * {4: 1.0, 6: 2.0}.get(x.shape[0], 3.0), 6, 5)


@program("an empty input")
def empty() -> Example:
    return _auto(lambda x: (x.sum(0), x.numel() == 0), 0, 3)


@program("max and min of sizes")
def largest() -> Example:
    return _auto(lambda x: x.new_zeros(max(x.shape[0], 5), min(*x.shape)), 7, 2)


@program("a promised range, with a call beyond it")
def promised() -> Example:
    shapes = ({0: DIM("n", min=2, max=8)},)
    return Example(lambda x: x.cumsum(0), (t(4, 2),), dynamic_shapes=shapes, also=_calls(8, 2, 9, 1))


@program("a mask by the length, with arange")
def mask() -> Example:
    def forward(x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        return torch.where((torch.arange(n) < n - 1)[:, None], x, torch.full((n, 1), -1.0))

    return _auto(forward, 1, 7)


@program("a constant size that another call has otherwise")
def constant_size() -> Example:
    return Example(lambda x: x * x.shape[0], (t(4, 2),), also=_calls(5, 4))
