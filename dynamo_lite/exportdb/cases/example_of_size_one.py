"""A batch of one as the example

A size of 1 tells little, since it broadcasts, and torch.export fixes it. Here what the program really needs to know of
it becomes a condition, so the other sizes that were promised are admitted.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "batch 1")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x).relu()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(1, 4),)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": {0: torch.export.Dim("batch", max=32)}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(5, 4),), (torch.randn(32, 4),)]
