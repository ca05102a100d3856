"""Indexing with a boolean mask

How many elements are picked is known at run time only.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked", "indexing")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[x > 0].sum() + x.masked_select(x < 0).shape[0]


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor([1.0, -2.0, 3.0]),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.tensor([-1.0, -2.0, -3.0]),)]
