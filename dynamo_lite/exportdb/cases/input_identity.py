"""Asking whether two tensors inside of an argument are one

Whether `batch["a"] is batch["b"]` holds for this call need not hold for the next, and a program cannot check it for
tensors inside of a container. Say it with a flag, which is a constant that the program checks.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("inputs", "aliasing")
ERROR = "input-identity"


class Module(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        if batch["query"] is batch["key"]:  # stops here
            return batch["query"] * 2
        return batch["query"] + batch["key"]


class Rewrite(nn.Module):
    def forward(self, batch: dict[str, Tensor], same: bool) -> Tensor:
        if same:
            return batch["query"] * 2
        return batch["query"] + batch["key"]


def inputs() -> tuple[Any, ...]:
    return ({"query": torch.ones(3), "key": torch.ones(3)},)


def rewrite_inputs() -> tuple[Any, ...]:
    return ({"query": torch.ones(3), "key": torch.ones(3)}, False)
