"""Setting an environment variable

A program does not talk to its process. Set it outside of forward, or use a Python variable.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor, nn

TAGS = ("effects", "configuration")
ERROR = "process-state"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        os.environ["SCALE"] = "2"  # stops here
        return x * int(os.environ["SCALE"])


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        scale = "2"
        return x * int(scale)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
