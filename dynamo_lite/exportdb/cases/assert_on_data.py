"""An assert on the data of a tensor

The answer is not known during export, and there is only one way to go on: the assertion holds. So it becomes an
operator of the program, which checks it on each call.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "assert")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        assert x.min() >= 0, "lengths are not negative"
        return x.sqrt()


def inputs() -> tuple[Tensor, ...]:
    return (torch.rand(4),)
