"""Looping over modules

ModuleList, ModuleDict and Sequential are interpreted; nodes carry the path of the module that made them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules", "control-flow")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 1), "b": nn.Sequential(nn.ReLU(), nn.Linear(3, 2))})

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        for layer in self.layers:
            x = layer(x).relu()
        return {name: head(x) for name, head in self.heads.items()}


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
