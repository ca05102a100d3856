"""Attention with a score function

`flex_attention` traces its score function into a sub-graph of its own.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import flex_attention

TAGS = ("operators", "control-flow")


class Module(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score * 0.5)


def inputs() -> tuple[Tensor, ...]:
    return tuple(torch.randn(1, 1, 8, 16) for _ in range(3))
