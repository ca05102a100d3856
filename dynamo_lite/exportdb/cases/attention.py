"""Scaled dot-product attention

The composite operator is one node of the program; `run_decompositions` takes it apart.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("operators",)


class Module(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def inputs() -> tuple[Tensor, ...]:
    return tuple(torch.randn(1, 2, 4, 8) for _ in range(3))
