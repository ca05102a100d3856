"""A branch on a number from the data

Which side to take depends on a value that only a run has. Where one side is meant, `torch._check` says so, and each
call checks it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked", "torch._check")
ERROR = "data-dependent-branch"


class Module(nn.Module):
    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        n = int(count.item())
        if n > 2:  # stops here
            return x * n
        return x + n


class Rewrite(nn.Module):
    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        n = int(count.item())
        torch._check(n > 2)
        if n > 2:
            return x * n
        return x + n


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor(5))
