"""Python's max() of tensors

`max(a, b)` compares the two and asks Python whether the answer is true. `torch.maximum` compares without asking; for
more than two, stack them and call `amax`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "python", "builtins")
ERROR = "data-dependent-branch"


class Module(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x * max(x.sum(), y.sum())  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x * torch.maximum(x.sum(), y.sum())


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.randn(3))
