"""A custom operator whose result has a new size

The fake kernel asks for a size that is known at run time only, and says its bounds.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("operators", "custom-operator", "unbacked")


@torch.library.custom_op("exportdb::positive_values", mutates_args=())
def positive_values(x: Tensor) -> Tensor:
    return x[x > 0].clone()


@positive_values.register_fake
def _(x: Tensor) -> Tensor:
    count = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty(count)


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return positive_values(x) * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor([1.0, -2.0, 3.0]),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.tensor([-1.0, -2.0, 3.0]),)]
