"""Keyword arguments, *args and **kwargs

Each tensor of the call becomes an input with its name; the program is called in the same way.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("python", "functions", "inputs")


class Module(nn.Module):
    def forward(self, x: Tensor, *more: Tensor, scale: float = 1.0, **named: Tensor) -> Tensor:
        for tensor in more:
            x = x + tensor
        for tensor in named.values():
            x = x * tensor
        return x * scale


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.randn(3), torch.randn(3))


def kwargs() -> dict[str, Any]:
    return {"scale": 2.0, "gate": torch.randn(3)}
