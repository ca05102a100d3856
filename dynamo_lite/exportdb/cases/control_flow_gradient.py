"""torch.autograd.grad through torch.cond

The gradient of a branch on data is a branch itself. Take it inside of each branch, or outside of the program: the
exported module can be differentiated.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "torch.autograd")
ERROR = "control-flow-gradient"


def rising(x: Tensor) -> Tensor:
    return x.sin().sum()


def falling(x: Tensor) -> Tensor:
    return x.cos().sum()


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        result = torch.cond(x.sum() > 0, rising, falling, (x,))
        return torch.autograd.grad(result, x)[0]  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, torch.func.grad(rising), torch.func.grad(falling), (x,))


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return x.cos() if x.sum() > 0 else -x.sin()


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor([1.0, 2.0, -0.5]),)
