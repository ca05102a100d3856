"""torch.cond with branches that are lambdas

What a lambda closes over becomes an operand.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "closures")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, pred: Tensor, x: Tensor) -> Tensor:
        y = x * 2
        return torch.cond(pred, lambda z: self.lin(z) + y, lambda z: z * y, (x + 1,))


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor(True), torch.ones(2, 3))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.tensor(False), torch.ones(2, 3))]
