"""A result that torch.inference_mode makes in forward

In eager it is an inference tensor: autograd refuses to save it, and it cannot be changed outside of that mode. A
program records the operators of the region as under no_grad and returns an ordinary tensor.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("grad-mode", "context-managers", "inference")
ERROR = "inference-output"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.inference_mode():  # stops here
            y = x * 2 + 1
        return y


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            y = x * 2 + 1
        return y


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
