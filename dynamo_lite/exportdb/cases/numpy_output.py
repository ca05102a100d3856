"""A NumPy array as a result

An exported program returns tensors. Return the tensor, and convert it where the program is called.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

TAGS = ("numpy", "outputs")
ERROR = "numpy-output"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return np.tanh(x.numpy())


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.from_numpy(np.tanh(x.numpy()))


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(8),)


def eager(module: nn.Module, x: Tensor) -> Tensor:
    return torch.from_numpy(module(x))
