"""Weights packed into an object of C++

Eager quantisation packs weights into a ScriptObject, which a program can neither hold nor save. Keep the
quantised weight
as a tensor; a backend packs it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("quantisation",)
ERROR = "script-object"
SAME_VALUES = False


def weight() -> Tensor:
    return torch.quantize_per_tensor(torch.linspace(-1, 1, 12).reshape(3, 4), 0.02, 0, torch.qint8)


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.packed = torch.ops.quantized.linear_prepack(weight(), None)

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.quantized.linear_dynamic(x, self.packed)  # stops here


class Rewrite(nn.Module):
    weight: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", weight().int_repr())

    def forward(self, x: Tensor) -> Tensor:
        return x @ (self.weight.float() * 0.02).T


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 4),)
