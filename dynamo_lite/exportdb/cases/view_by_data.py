"""A view whose size comes from the data

The program must know that the number divides the elements. `torch._check` says so, and each call checks it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked", "torch._check", "views")


class Module(nn.Module):
    def forward(self, x: Tensor, rows: Tensor) -> Tensor:
        n = int(rows.item())
        torch._check(n > 0)
        torch._check(x.shape[0] % n == 0)
        return x.view(n, x.shape[0] // n).sum(0).sum()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(6), torch.tensor(2))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(6), torch.tensor(3))]
