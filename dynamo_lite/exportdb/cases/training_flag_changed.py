"""Switching a submodule to eval mode inside of forward

The first call changes the flag, later ones find it changed. A second trace from the state after the first gives the
same program, so nothing is lost.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "modules", "training")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Tensor:
        self.norm.eval()
        return self.norm(x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
