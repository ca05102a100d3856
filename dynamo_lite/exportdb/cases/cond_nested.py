"""torch.cond inside of torch.cond

A branch may choose again; its sub-graph has sub-graphs of its own.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("torch.cond", "control-flow")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        def large(y: Tensor) -> Tensor:
            return torch.cond(y.sum() > 10, lambda z: z / 10, lambda z: z / 2, (y,))

        return torch.cond(x.sum() > 0, large, lambda y: -y, (x,))


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.ones(3) * 9,), (-torch.ones(3),)]
