"""A custom operator with a fake kernel

The operator is one node; nothing looks into its body.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("operators", "custom-operator")


@torch.library.custom_op("exportdb::fused_gelu_mul", mutates_args=())
def fused_gelu_mul(x: Tensor, y: Tensor) -> Tensor:
    return nn.functional.gelu(x) * y


@fused_gelu_mul.register_fake
def _(x: Tensor, y: Tensor) -> Tensor:
    return torch.empty_like(x)


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return fused_gelu_mul(x, y) + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.randn(3))
