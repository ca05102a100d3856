"""A dataclass as output

The result has the type that forward returns, not a tuple.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

TAGS = ("outputs", "classes")


@dataclass
class Result:
    values: Tensor
    weights: dict[str, Tensor]


class Module(nn.Module):
    def forward(self, x: Tensor) -> Result:
        return Result(x * 2, {"softmax": x.softmax(-1)})


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
