"""A size that is computed from another

`2 * half` as a dimension: the input is always even, and the program relies on it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes",)


def dynamic_shapes() -> dict[str, Any]:
    half = torch.export.Dim("half", min=1)
    return {"x": {0: 2 * half}}


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.view(2, -1).sum(0)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(6),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(2),), (torch.randn(10),)]
