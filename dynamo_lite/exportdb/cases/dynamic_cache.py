"""A cache that grows by the new tokens

The new length is the sum of two sizes, each of which varies by itself.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "caching")


class Module(nn.Module):
    def forward(self, x: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        keys = torch.cat([cache, x])
        return x @ keys.T, keys


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 4), torch.randn(5, 4))


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("new")}, "cache": {0: torch.export.Dim("past")}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(1, 4), torch.randn(7, 4)), (torch.randn(3, 4), torch.randn(2, 4))]
