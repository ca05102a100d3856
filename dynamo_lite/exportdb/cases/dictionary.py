"""A dictionary of tensors

Dictionaries are ordinary dictionaries: they are filled, read and iterated during the trace and leave no node.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "containers")


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        elements = {"x2": x * x, "sum": x + y}
        elements |= {name + "_sin": value.sin() for name, value in elements.items()}
        return sum(elements.values(), torch.zeros(3))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.randn(3))
