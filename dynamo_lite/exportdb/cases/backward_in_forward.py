"""backward() in a loop that data end

`backward()` in forward is captured (see `training_step`), in branches on data as well (`guarded_training_step`), but
not in a loop that data end: a round gives values, and the `.grad` of a tensor from outside is not one of them. Make a
fixed number of rounds.
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
        self.weight.grad = torch.zeros(3)
        while x.sum() > 1:
            (x * self.weight).sum().backward()  # stops here
            x = x / 2
        return self.weight.grad


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        self.weight.grad = torch.zeros(3)
        for _ in range(4):  # enough for the inputs
            is_on = x.sum() > 1
            torch.where(is_on, (x * self.weight).sum(), 0.0).backward()
            x = torch.where(is_on, x / 2, x)
        return self.weight.grad


def inputs() -> tuple[Tensor, ...]:
    return (torch.full((3,), 2.0),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.full((3,), 1.0),), (torch.full((3,), -1.0),)]
