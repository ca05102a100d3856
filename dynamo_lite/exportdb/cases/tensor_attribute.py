"""An attribute on a tensor that was passed in

The caller's tensor would carry the attribute after the call; a graph has no such thing. Keep the value in a variable,
or return it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("effects", "tensors", "attributes")
ERROR = "tensor-attribute"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x.scale = 2.0  # type: ignore[attr-defined]  # stops here
        return x * x.scale  # type: ignore[attr-defined]


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        scale = 2.0
        return x * scale


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
