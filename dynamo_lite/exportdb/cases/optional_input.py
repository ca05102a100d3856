"""An optional argument that is left out

None is a constant of the program: with it, this program is exported; with a tensor, another one.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("inputs", "python")


class Module(nn.Module):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x if mask is None else x.masked_fill(mask, 0.0)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
