"""`.detach()` and `.data`

Both give a tensor on the same memory that carries no gradient; both are recorded as `detach`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("aliasing", "tensors")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x * 2
        y.data[0] = 0
        return y + x.detach()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
