"""A size as a tensor

A dynamic size may become a 0-d tensor, a divisor, or an argument of `arange`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "factories")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        positions = torch.arange(n, dtype=x.dtype) / n
        return x * positions + torch.tensor(float(n))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("length", min=2)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(2),), (torch.randn(9),)]
