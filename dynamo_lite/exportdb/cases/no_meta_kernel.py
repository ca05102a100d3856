"""A custom operator without a fake kernel

During export operators run on tensors without data, so each must be able to say what shape and dtype comes out.
`register_fake` teaches a custom operator that.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("operators", "custom-operator")
ERROR = "no-meta-kernel"


@torch.library.custom_op("exportdb::double_without_fake", mutates_args=())
def double_without_fake(x: Tensor) -> Tensor:
    return x * 2


@torch.library.custom_op("exportdb::double_with_fake", mutates_args=())
def double_with_fake(x: Tensor) -> Tensor:
    return x * 2


@double_with_fake.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return double_without_fake(x)  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return double_with_fake(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
