"""An operator whose result has a size that is not known before run time

Most operators of this kind (`nonzero`, `unique`, boolean masks) say that they make a new size, and export. `lstsq`
does not: whether it returns residuals depends on the rank. Use operators whose sizes are known.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "operators", "linear-algebra")
ERROR = "data-dependent-shape"


class Module(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.linalg.lstsq(a, b).solution  # stops here


class Rewrite(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.linalg.pinv(a) @ b


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 3), torch.randn(4, 2))
