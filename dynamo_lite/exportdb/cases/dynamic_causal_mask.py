"""A mask of the size of the sequence

Everything that is computed from the length follows it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "factories")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        mask = torch.ones(n, n, dtype=torch.bool).tril()
        scores = (x @ x.T).masked_fill(~mask, float("-inf"))
        return scores.softmax(-1) @ x


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 3),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("length", min=2, max=512)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(2, 3),), (torch.randn(9, 3),)]
