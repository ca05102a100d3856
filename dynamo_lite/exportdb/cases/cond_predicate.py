"""torch.cond with a predicate that is known

Where the predicate is a Python bool the choice is made during the export, as with `if`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "dynamic-shapes")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.dim() > 1, lambda y: y.sin(), lambda y: y.cos(), (x,))


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3, 2),)
