"""The first step of an optimizer

State that the first step makes from constants (the moments of Adam) or as the first term of a sum (momentum) is in the
program from the start, so the export may come before the first step. With dampening the first step adds the whole
gradient and later ones a part of it: take one step before the export.
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
        self.optimizer = torch.optim.SGD(self.net.parameters(), momentum=0.9, dampening=0.5)

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
