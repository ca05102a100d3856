"""Named tuples in and out

A named tuple is a container of its fields; the program takes it and returns it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

TAGS = ("inputs", "outputs", "containers")


class Point(NamedTuple):
    x: Tensor
    y: Tensor


class Module(nn.Module):
    def forward(self, p: Point) -> Point:
        return p._replace(x=p.x + p.y)


def inputs() -> tuple[Point]:
    return (Point(torch.randn(3), torch.randn(3)),)
