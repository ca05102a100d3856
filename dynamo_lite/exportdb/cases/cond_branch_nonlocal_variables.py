"""torch.cond whose branches read local variables

Local tensors and Python values are read through the closure: a tensor becomes an operand of both branches, a Python
value a constant.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "closures")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        offset = x.sin()
        scale = 2

        def true_branch(y: Tensor) -> Tensor:
            return y + offset * scale

        def false_branch(y: Tensor) -> Tensor:
            return y - offset

        return torch.cond(x.sum() > 0, true_branch, false_branch, (x,))


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(-torch.ones(3),)]
