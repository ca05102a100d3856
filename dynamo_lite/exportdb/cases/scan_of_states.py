"""A recurrence as an operator

`scan` carries a state from step to step and stacks what each step gives.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan

TAGS = ("control-flow",)


class Module(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        def step(state: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
            state = state * 0.5 + row
            return state, state.sin()

        return scan(step, torch.zeros(3), x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 3),)
