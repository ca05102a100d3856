"""The same tensor passed as two arguments

Each argument keeps an input of its own. Where the program asks whether the two are one tensor, the answer is a guard,
and a call with another answer is rejected instead of computed wrongly.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("inputs", "aliasing")


class Module(nn.Module):
    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.T if query is not key else query.square()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 3), torch.randn(3, 3))
