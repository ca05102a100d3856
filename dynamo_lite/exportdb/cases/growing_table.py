"""A table of positions that grows with the longest input

A rotary embedding, or a table of positions, that is made for the longest input so far. The program makes it in each
call: the first rows do not depend on how many there are, so the length may vary. Export before the first call: a table
that is there is a constant, and its length is the longest that the program takes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

import dynamo_lite

TAGS = ("effects", "state", "caching", "positions", "dynamic-shapes")


class Module(nn.Module):
    inv_freq: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("inv_freq", 1 / 100 ** (torch.arange(0, 8, 2) / 8), persistent=False)
        self.length = 0
        self.cos: Any = None

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1]
        if n > self.length:
            freqs = torch.outer(torch.arange(n, device=x.device).type_as(self.inv_freq), self.inv_freq)
            self.length, self.cos = n, torch.cat((freqs, freqs), dim=-1).cos()
        return x * self.cos[:n]


def export(module: nn.Module) -> ExportedProgram:
    return dynamo_lite.export(module, inputs(), dynamic_shapes={"x": {1: Dim("length", min=1)}})


def inputs() -> tuple[Tensor]:
    return (torch.ones(2, 5, 8),)


def other_inputs() -> list[tuple[Tensor]]:
    return [(torch.ones(2, 3, 8),), (torch.ones(2, 9, 8),), (torch.ones(2, 1, 8),)]
