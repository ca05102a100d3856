"""Asking about a size without insisting on an answer

`guard_or_false` is true only if the answer is known to be yes; for a number of a run it takes the general path.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.fx.experimental.symbolic_shapes import guard_or_false

TAGS = ("data-dependent", "unbacked", "torch._check")


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        found = x.nonzero()
        if guard_or_false(found.shape[0] == 0):
            return found.sum() - 1
        return found.sum()


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor([0, 1, 1]),)


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.tensor([1, 1, 1]),)]
