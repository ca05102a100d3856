"""backward() in a branch on data

`backward()` in forward is captured (see `training_step`), but not in a branch or a loop on data: a side returns values,
and the `.grad` of a tensor from outside is not one of them. Make the choice part of the loss.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autograd", "training", "control flow")
ERROR = "backward-in-forward"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        self.zero_grad()
        loss = (x * self.weight).sum()
        if x.sum() > 0:
            loss.backward()  # stops here
        else:
            (-loss).backward()
        assert self.weight.grad is not None
        return self.weight.grad + 0


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        self.zero_grad()
        loss = (x * self.weight).sum()
        torch.where(x.sum() > 0, loss, -loss).backward()
        assert self.weight.grad is not None
        return self.weight.grad + 0


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(-torch.ones(3),)]
