"""An attribute that is set for a block and put back

After the block the attribute is what it was, so there is no effect to carry.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "classes", "context-managers")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 1.0

    def scaled(self, x: Tensor) -> Tensor:
        return x * self.scale

    def forward(self, x: Tensor) -> Tensor:
        before, self.scale = self.scale, 2.0
        try:
            return self.scaled(x)
        finally:
            self.scale = before


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
