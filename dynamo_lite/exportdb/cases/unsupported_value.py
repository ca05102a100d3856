"""An output that contains itself

The values of a program are trees: containers of tensors and constants. An object that holds itself is none. Return its
parts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("outputs", "inputs", "pytree")
ERROR = "unsupported-value"


class Module(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Any]:
        node: dict[str, Any] = {"value": x * 2}
        node["self"] = node
        return node


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Any]:
        return {"value": x * 2}


def eager(module: nn.Module, x: Tensor) -> dict[str, Any]:
    node = module(x)
    del node["self"]
    return node


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
