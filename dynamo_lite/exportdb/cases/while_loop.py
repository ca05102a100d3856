"""A loop that runs until the data says stop, as an operator

`while_loop` keeps the loop in the program: a condition and a body, which are traced once each.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch._higher_order_ops import while_loop

TAGS = ("control-flow", "data-dependent")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        def unfinished(y: Tensor) -> Tensor:
            return y.abs().max() > 1

        def halved(y: Tensor) -> tuple[Tensor]:
            return (y / 2,)

        return while_loop(unfinished, halved, (x,))[0]


def inputs() -> tuple[Tensor, ...]:
    return (torch.ones(3) * 9,)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.ones(3) * 0.5,), (torch.ones(3) * 100,)]
