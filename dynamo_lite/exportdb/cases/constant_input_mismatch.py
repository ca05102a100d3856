"""Calling the program with another constant

Strings, flags and numbers among the arguments are constants of the program, because Python has branched on them.
Export one program for each value, or pass a tensor.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("inputs", "constants")
ERROR = "input-mismatch"


class Module(nn.Module):
    def forward(self, x: Tensor, mode: str) -> Tensor:
        return x.sum() if mode == "sum" else x.mean()


class Rewrite(nn.Module):
    def forward(self, x: Tensor, is_sum: Tensor) -> Tensor:
        return torch.where(is_sum, x.sum(), x.mean())


def inputs() -> tuple[Any, ...]:
    return (torch.randn(3), "sum")


def wrong_inputs() -> tuple[Any, ...]:
    return (torch.randn(3), "mean")


def rewrite_inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor(True))
