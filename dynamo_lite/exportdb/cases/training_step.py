"""A step of training

`backward()` in forward is captured: the gradients of the parameters that the loss reaches are operators of the program,
and `.grad` holds them for the rest of the call. Gradients that each call resets before it reads them are scratch. The
program does not set `.grad` of the parameters, which is noted.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autograd", "training", "optimizer", "effects")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        self.weight.grad = None
        loss = (x * self.weight).sin().sum()
        loss.backward()
        assert self.weight.grad is not None
        with torch.no_grad():
            self.weight.sub_(0.1 * self.weight.grad)
        return loss.detach()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
