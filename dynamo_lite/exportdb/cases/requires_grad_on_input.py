"""Calling requires_grad_() on an argument

It changes the caller's tensor. A force field does so to differentiate an energy with respect to positions. Use a
detached copy of the argument instead.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "tensors", "training")
ERROR = "tensor-attribute"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x.requires_grad_()  # stops here
        energy = x.pow(2).sum()
        return -torch.autograd.grad(energy, x)[0]


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        energy = x.pow(2).sum()
        return -torch.autograd.grad(energy, x)[0]


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
