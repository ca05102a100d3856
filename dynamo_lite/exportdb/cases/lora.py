"""A low-rank adapter (LoRA)

The base weights require no gradient, the adapter's do: the program keeps both flags, so it can be trained further. The
adapter's scale is a number of the module, and a constant of the program.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("lora", "adapter", "peft", "fine-tuning", "parameters")


class Module(nn.Module):
    def __init__(self, width: int = 8, rank: int = 2, alpha: float = 4.0) -> None:
        super().__init__()
        self.base = nn.Linear(width, width).requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, width))
        self.up = nn.Parameter(torch.randn(width, rank))
        self.scale = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + x @ self.down.T @ self.up.T * self.scale


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 8),)
