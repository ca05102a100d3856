"""The address of a tensor's data

`data_ptr()` asks where the data lies, and during export there is none. What a kernel needs to know about alignment is
the kernel's own business; the program says only what to compute.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "memory")
ERROR = "data-dependent-value"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        aligned = x.data_ptr() % 16 == 0  # stops here
        return x * 2 if aligned else x + x


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(8),)
