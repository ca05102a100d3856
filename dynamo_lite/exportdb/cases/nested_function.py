"""A function defined in forward

Its free variables are cells of the interpreted frame, as in CPython; it can be called before they change and after.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "functions", "closures")


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        scale = 1.0

        def add(z: Tensor) -> Tensor:
            nonlocal scale
            scale += 1.0
            return x * scale + z

        return add(y) + add(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.randn(3))
