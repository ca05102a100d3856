"""A mixture of experts (MoE)

Each expert computes all tokens, weighted by the router, which is zero for those that go elsewhere: each size is
constant. Picking each expert's tokens (`x[mask]`) has sizes that depend on data (data_dependent_size), and is captured
as well.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("moe", "mixture of experts", "routing", "topk")


class Module(nn.Module):
    def __init__(self, width: int = 8, experts: int = 4, active: int = 2) -> None:
        super().__init__()
        self.router, self.active = nn.Linear(width, experts), active
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x: Tensor) -> Tensor:
        weights, picked = self.router(x).softmax(-1).topk(self.active)
        shares = torch.zeros(x.shape[0], len(self.experts)).scatter(1, picked, weights)
        return sum((shares[:, i : i + 1] * expert(x) for i, expert in enumerate(self.experts)), torch.zeros(()))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(5, 8),)
