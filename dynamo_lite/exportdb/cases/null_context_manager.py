"""A context manager that does nothing

A choice between a context and `nullcontext` is made during the trace.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import Tensor, nn

TAGS = ("python", "context-managers")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        context = torch.no_grad() if self.training else nullcontext()
        with context:
            return x.sin() + x.cos()


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
