"""Calling requires_grad_() on an argument

It changes the caller's tensor. Set it before the call.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "tensors", "training")
ERROR = "tensor-attribute"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x.requires_grad_()  # stops here
        return x * 2


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
