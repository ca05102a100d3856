"""A training step: an optimizer in forward

`loss.backward()` adds to the `.grad` of parameters, from which `optimizer.step()` reads: both are effects on objects
that outlive the call. Export the loss and the gradients as values, and give them to the optimizer outside of the
program.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("optimizer", "autograd", "training", "effects")
ERROR = "backward-in-forward"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.layer.parameters(), lr=0.1)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss = (self.layer(x) - target).square().mean()
        loss.backward()  # stops here
        self.optimizer.step()
        assert self.layer.weight.grad is not None
        return self.layer.weight.grad


class Rewrite(nn.Module):
    """Returns the gradient; `parameter.grad = gradient; optimizer.step()` follow outside."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        loss = (self.layer(x) - target).square().mean()
        (gradient,) = torch.autograd.grad(loss, [self.layer.weight])
        return gradient


def inputs() -> tuple[Tensor, ...]:
    return torch.randn(4, 3), torch.randn(4, 1)
