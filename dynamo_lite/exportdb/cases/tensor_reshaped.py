"""Changing the shape of a buffer in place

A tensor of the module would have another shape from the first call on. The exported program's buffers keep theirs; the
operator without the underscore makes a view.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "tensors", "memory")
ERROR = "tensor-reshaped"


class Module(nn.Module):
    bias: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bias", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        self.bias.unsqueeze_(0)  # stops here
        return x + self.bias


class Rewrite(nn.Module):
    bias: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bias", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.bias.unsqueeze(0)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
