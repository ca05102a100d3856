"""Calling the program with another dtype

The dtype of an input is fixed at export: another one gives other operators and other results. Export with the dtype
that the caller has, and convert in the program.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("inputs", "dtype")
ERROR = "input-mismatch"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 0.5


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.float() * 0.5


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(2),)


def wrong_inputs() -> tuple[Tensor, ...]:
    return (torch.ones(2, dtype=torch.int64),)


def rewrite_inputs() -> tuple[Tensor, ...]:
    return (torch.ones(2, dtype=torch.int64),)
