"""torch.no_grad around a part of forward

The part becomes a sub-graph that runs without gradients, so that a program that is trained gives eager's gradients.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("grad-mode", "context-managers")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.teacher = nn.Linear(3, 3)
        self.student = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            target = self.teacher(x)
        return (self.student(x) - target).square().mean()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
