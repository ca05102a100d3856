"""The first step of an optimizer in a branch on data

`if torch.isfinite(loss): optimizer.step()` is captured. If the first step makes the state of the optimizer, the program
begins with this state, provided that a first step computes what later ones do. With dampening it does not: the first
gradient enters the momentum as it is. Take one step before the export then.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("training", "state", "optimizers", "control flow")
ERROR = "first-step-in-branch"
SAME_VALUES = False  # the weights of the second step


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9, dampening=0.1)

    def forward(self, x: Tensor) -> Tensor:
        self.net.zero_grad()
        loss = self.net(x).pow(2).sum()
        loss.backward()
        if torch.isfinite(loss):
            self.optimizer.step()  # stops here
        return loss.detach()


class Rewrite(Module):
    def __init__(self) -> None:
        super().__init__()
        self(torch.zeros(2, 3))  # the first step


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
