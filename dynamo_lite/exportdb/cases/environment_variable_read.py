"""Reading an environment variable

What is read from the process is a constant of the program.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor, nn

TAGS = ("configuration", "python")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * int(os.environ.get("EXPORTDB_SCALE", "3"))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
