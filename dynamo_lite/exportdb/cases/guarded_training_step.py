"""A training step that is skipped if the loss is not finite

`backward()` and `step()` in a branch on data are captured: the weights, the state of the optimizer and the gradients
that are used behind the branch are results of torch.cond.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("training", "autograd", "optimizers", "control flow")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def forward(self, x: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = self.net(x).pow(2).sum()
        if torch.isfinite(loss):
            loss.backward()
            self.optimizer.step()
        return loss.detach()


def inputs() -> tuple[Tensor, ...]:
    return (torch.arange(6.0).view(2, 3),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.full((2, 3), torch.inf),), (torch.ones(2, 3),)]
