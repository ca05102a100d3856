"""Two buffers that share their memory after the call

From then on a change of one changes the other. A program copies values into its buffers and cannot tie them together.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "buffers", "aliasing")
ERROR = "buffer-becomes-shared"


class Module(nn.Module):
    current: Tensor
    previous: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("current", torch.zeros(3))
        self.register_buffer("previous", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        state = self.current + x
        self.current = state  # stops here
        self.previous = state
        return self.previous * 2


class Rewrite(Module):
    def forward(self, x: Tensor) -> Tensor:
        state = self.current + x
        self.current = state
        self.previous = state.clone()
        return self.previous * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
