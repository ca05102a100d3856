"""An integer argument that varies

With `Dim.DYNAMIC` a Python int is an input of the program, not a constant.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

TAGS = ("dynamic-shapes", "inputs")


class Module(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        return x * n + torch.zeros(n).sum()


def inputs() -> tuple[Any, ...]:
    return (torch.randn(3), 5)


def dynamic_shapes() -> dict[str, Any]:
    return {"x": None, "n": torch.export.Dim.DYNAMIC}


def other_inputs() -> list[tuple[Any, ...]]:
    return [(torch.randn(3), 7)]
