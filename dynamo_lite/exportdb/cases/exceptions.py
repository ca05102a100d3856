"""Raising and catching exceptions

Exceptions are real ones. What an operator raises for wrong shapes can be caught, as in eager.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "exceptions")


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        try:
            return x @ y
        except RuntimeError:
            return x * y.sum()
        finally:
            x = x + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3), torch.randn(2, 3))
