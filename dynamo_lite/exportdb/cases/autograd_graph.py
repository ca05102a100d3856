"""Looking into `grad_fn`

The autograd graph of stand-ins is not that of eager: programs hold operators, not their history. Whether there is one
may be asked; what is in it may not.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("autograd", "tensors")
ERROR = "autograd-graph"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.lin(x)
        if y.grad_fn is not None and "Addmm" in y.grad_fn.name():  # stops here
            return y * 2
        return y


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        y = self.lin(x)
        if y.requires_grad:
            return y * 2
        return y


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
