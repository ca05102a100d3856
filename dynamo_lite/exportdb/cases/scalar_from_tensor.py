"""A Python number from a tensor

`item()`, `int()` and `float()` of a tensor are operators; the number they give stays symbolic.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked", "python")


class Module(nn.Module):
    def forward(self, x: Tensor, scale: Tensor) -> Tensor:
        return x * scale.item() + int(scale.long())


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor(2.0))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(3), torch.tensor(-3.0))]
