"""A class defined in forward

Class bodies, metaclasses and `super()` are interpreted.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "classes")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        class Base:
            def run(self, y: Tensor) -> Tensor:
                return y + 1

        class Twice(Base):
            def run(self, y: Tensor) -> Tensor:
                return super().run(y) * 2

        return Twice().run(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
