"""Programs with flex_attention: score and mask functions that close over tensors, numbers and block masks."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from tests.hops.harness import Program

Q = torch.randn(1, 2, 128, 16, generator=torch.Generator().manual_seed(0))


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bias", torch.linspace(-1, 1, 2))
        self.slope = 0.5


class Scores(Base):
    def forward(self, q: torch.Tensor) -> torch.Tensor:
        def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
            return s + self.bias[h] * (i - j) * self.slope

        return flex_attention(q, q * 2, q, score)


class Causal(Base):
    def forward(self, q: torch.Tensor) -> torch.Tensor:
        mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 128, 128, device="cpu")
        return flex_attention(q, q, q, block_mask=mask)


PROGRAMS = [
    Program("scores", Scores, [(Q,), (-Q,)], lowers=False, saves=False),
    Program("causal", Causal, [(Q,), (-Q,)], lowers=False, saves=False),
]
