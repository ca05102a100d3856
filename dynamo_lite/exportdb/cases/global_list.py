"""A global list that grows

The list outlives the call, and nothing in a program appends to it. Return the values, so that the caller can keep
them, or count in a buffer.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "state", "python", "globals")
ERROR = "python-state"


SEEN: list[int] = []


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        SEEN.clear()

    def forward(self, x: Tensor) -> Tensor:
        SEEN.append(1)  # stops here
        return x * len(SEEN)


class Rewrite(nn.Module):
    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        self.seen += 1
        return x * self.seen


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
