"""A size that comes from the data

`item()` gives a number that is known at run time only. `torch._check` says what holds for it, and the program checks
that.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "torch._check")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        n = int(x.item())
        torch._check(n >= 0)
        torch._check(n <= 5)
        return torch.ones(n, 3)


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor(4),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.tensor(2),), (torch.tensor(5),)]
