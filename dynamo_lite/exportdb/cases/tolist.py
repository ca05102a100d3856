"""The numbers of a tensor as a list

`tolist()` gives as many symbolic numbers as the tensor has elements. That number is known; the numbers are not.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "unbacked", "python")


class Module(nn.Module):
    def forward(self, x: Tensor, weights: Tensor) -> Tensor:
        first, second = weights.tolist()
        return x * first + second


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor([2, 5]))


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(3), torch.tensor([-1, 0]))]
