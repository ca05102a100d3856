"""An attribute that the first call fills in

A Python value computed on the first call and found by later ones. A second trace from the state after the first gives
the same program, so the effect is noted and not refused.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "caching")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.width: int | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.width is None:
            self.width = x.shape[-1] * 2
        return x.sum() * self.width


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
