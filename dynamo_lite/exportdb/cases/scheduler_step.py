"""A learning-rate scheduler

`scheduler.step()` counts in a Python number, and this one looks the number up in a dict of milestones. Call it
outside of the step, and make the learning rate a tensor: the scheduler changes it in place, and the program reads it in
each call.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import MultiStepLR

TAGS = ("training", "optimizers", "state")
ERROR = "scheduler-step"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.scheduler = MultiStepLR(self.optimizer, milestones=[5, 8])

    def forward(self, x: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = self.net(x).pow(2).sum()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()  # stops here
        return loss.detach()


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=torch.tensor(0.1))
        self.scheduler = MultiStepLR(self.optimizer, milestones=[5, 8])  # the training loop calls its step()

    def forward(self, x: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = self.net(x).pow(2).sum()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
