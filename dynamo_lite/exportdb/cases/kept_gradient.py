"""A step that asks for the gradient of the last call

Gradients that are added up over calls, or reset by `zero_grad(set_to_none=False)`, are buffers of the program, which
begins with zeros where `.grad` is None. A step that does something else in the call that finds None is refused: keep
what it asks for in a buffer, or run the step once before the export, so that `.grad` is a tensor.
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
        last = torch.ones(3) if self.weight.grad is None else self.weight.grad.clone()
        self.zero_grad()
        (x * self.weight).sum().backward()  # stops here
        return last


class Rewrite(nn.Module):
    last: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("last", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        last = self.last.clone()
        self.zero_grad()
        (x * self.weight).sum().backward()
        assert self.weight.grad is not None
        self.last.copy_(self.weight.grad)
        return last


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
