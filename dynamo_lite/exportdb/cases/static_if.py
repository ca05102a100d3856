"""A branch on what is known

The number of dimensions, the dtype and Python values are known during the trace; the side that is not taken leaves
nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("control-flow", "python")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 3 and x.dtype.is_floating_point:
            return x + torch.ones(1, 1, 1)
        return x


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 2, 2),)
