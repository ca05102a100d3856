"""An assert on the data of a tensor

`assert` is a branch. `torch._assert_async` is the same check as an operator: it stays in the program and runs on each
call.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = (
    "data-dependent",
    "assert",
)
ERROR = "data-dependent-branch"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        assert x.min() >= 0, "lengths are not negative"  # stops here
        return x.sqrt()


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        torch._assert_async(x.min() >= 0, "lengths are not negative")
        return x.sqrt()


def inputs() -> tuple[Tensor, ...]:
    return (torch.rand(4),)
