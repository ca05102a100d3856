"""The first step of an optimizer in a branch on data

`if torch.isfinite(loss): optimizer.step()` is captured, but not if it makes the state of the optimizer: behind the
branch there would be state, or none. Take one step before the export.
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
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def forward(self, x: Tensor) -> Tensor:
        self.net.zero_grad()
        loss = self.net(x).pow(2).sum()
        loss.backward()
        if torch.isfinite(loss):  # stops here
            self.optimizer.step()
        return loss.detach()


class Rewrite(Module):
    def __init__(self) -> None:
        super().__init__()
        self(torch.zeros(2, 3))  # the first step


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
