"""torch.vmap

The transform is applied during the trace: the program holds the batched operators.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.func",)


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.vmap(torch.dot)(x, y)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 3), torch.randn(4, 3))
