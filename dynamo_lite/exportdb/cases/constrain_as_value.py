"""A number from the data within known bounds

The bounds let the program branch: for every value that the check admits the answer is the same.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "torch._check")


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        n = int(x.item())
        torch._check(n >= 1)
        torch._check(n <= 5)
        return y.sin() * n if n < 6 else y.cos()


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor(4), torch.randn(3))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.tensor(2), torch.randn(3))]
