"""A loop on data whose rounds add to a list, or that has a gradient

How many rounds there are has to be known before the operators are made: the loop is run once for that number, and then
for what it computes. The gradient goes through all rounds. A note says so. A loop that draws random numbers is refused.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "control-flow", "gradients")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        norms = [x.norm()]
        while norms[-1] > 0.5:
            x = torch.tanh(self.linear(x)) * 0.7
            norms.append(x.norm())
        return x, torch.stack(norms)


def inputs() -> tuple[Tensor]:
    return (torch.ones(3, 2),)


def other_inputs() -> list[tuple[Tensor]]:
    return [(torch.zeros(3, 2),), (torch.full((3, 2), 9.0),)]
