"""`in` on a list of numbers

Whether a size or a constant is in a list is decided during the trace.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "containers")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        assert x.size(-1) in [4, 6]
        return x.sum(-1) if "mean" not in ["sum", "max"] else x.mean(-1)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 4),)
