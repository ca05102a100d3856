"""torch.inference_mode in forward

The region is recorded like no_grad. What it makes is not returned itself (see inference_output).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("grad-mode", "context-managers")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.inference_mode():
            scale = x.abs().max()
        return x / scale


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
