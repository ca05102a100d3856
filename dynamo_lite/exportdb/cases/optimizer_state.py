"""The first step of an optimizer

Momentum, and the moments of Adam, are made by the first step and changed by later ones. A program holds state that
exists: take one step before the export.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("training", "state", "optimizers")
ERROR = "optimizer-state"
SAME_VALUES = False  # the weights of the second step


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 2)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def forward(self, x: Tensor) -> Tensor:
        self.net.zero_grad()
        loss = self.net(x).pow(2).sum()
        loss.backward()
        self.optimizer.step()  # stops here
        return loss.detach()


class Rewrite(Module):
    def __init__(self) -> None:
        super().__init__()
        self(torch.zeros(2, 3))  # the first step


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
