"""A NumPy function that torch does not have

Arrays made of tensors know the functions of torch._numpy. What else NumPy does to them no graph shows: write it with
torch's functions.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

TAGS = ("numpy",)
ERROR = "numpy-function"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.from_numpy(np.maximum.accumulate(x.numpy()))  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.cummax(0).values


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(8),)
