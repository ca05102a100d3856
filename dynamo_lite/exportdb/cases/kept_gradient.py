"""A step that never resets its gradients

In eager the second call adds to the gradients of the first. A program would have to keep them from the first call on,
when `.grad` is None. Reset them in the step; or run the step once before the export, so that `.grad` is a tensor, which
the program keeps as a buffer.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autograd", "training", "state")
ERROR = "kept-gradient"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        (x * self.weight).sum().backward()  # stops here
        assert self.weight.grad is not None
        return self.weight.grad + 0


class Rewrite(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        self.zero_grad()
        (x * self.weight).sum().backward()
        assert self.weight.grad is not None
        return self.weight.grad + 0


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
