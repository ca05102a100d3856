"""torch.inference_mode around forward

The region is recorded like no_grad.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("grad-mode", "context-managers")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.inference_mode():
            return x * 2 + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
