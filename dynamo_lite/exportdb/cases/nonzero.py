"""A result whose size depends on the data

`nonzero` gives as many rows as there are non-zero elements: a size that is known at run time only, and may be used
like others.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows = x.nonzero()
        return rows * 2 + rows.shape[0]


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor([1, 0, 2]),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.tensor([1, 1, 2]),), (torch.tensor([0, 0, 0]),)]
