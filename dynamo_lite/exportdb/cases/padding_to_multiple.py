"""Padding a dynamic length to a multiple

Remainders of sizes are Python's, so the padded length is known as an expression, and a view by the block size works
for every length.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "operators")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        padding = -x.shape[0] % 4
        padded = nn.functional.pad(x, (0, padding))
        return padded.view(-1, 4).sum(1)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(6),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("length", min=2, max=64)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(8),), (torch.randn(3),), (torch.randn(13),)]
