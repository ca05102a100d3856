"""torch.cond whose branches call other functions

Branches are interpreted like the rest, nested functions included.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow", "functions")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        def true_branch(y: Tensor) -> Tensor:
            def inner(z: Tensor) -> Tensor:
                return z + y

            return inner(y * 2)

        def false_branch(y: Tensor) -> Tensor:
            return y - 1

        return torch.cond(x.sum() > 0, true_branch, false_branch, [x])


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(-torch.ones(3),)]
