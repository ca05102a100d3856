"""Calling the program with another structure

The structure of the arguments (the keys of a dict, the length of a list) is fixed at export.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("inputs", "pytree")
ERROR = "input-mismatch"


class Module(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return sum(batch.values(), torch.zeros(()))


class Rewrite(nn.Module):
    def forward(self, batch: Tensor) -> Tensor:
        return batch.sum(0)


def inputs() -> tuple[Any, ...]:
    return ({"a": torch.ones(3), "b": torch.ones(3)},)


def rewrite_inputs() -> tuple[Tensor, ...]:
    return (torch.ones(2, 3),)


def wrong_inputs() -> tuple[Any, ...]:
    return ({"a": torch.ones(3)},)
