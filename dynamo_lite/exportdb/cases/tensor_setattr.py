"""An attribute on a tensor of the program

On a tensor that the program made itself, attributes are Python values like others: they are not visible outside.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("tensors", "attributes")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.sin()
        y.scale = 2.0  # type: ignore[attr-defined]
        setattr(y, "offset", 1.0)  # noqa: B010  the name could be computed
        return y * y.scale + y.offset  # type: ignore[attr-defined]


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
