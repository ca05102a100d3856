"""A tensor made behind the operators' back

Most ways to make a tensor are operators, which are recorded. This one is not, so nothing says where its values come
from. `detach()` gives the same tensor by an operator.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("tensors", "memory")
ERROR = "unknown-tensor"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        alias = torch.Tensor._make_subclass(torch.Tensor, x)
        return alias * 2  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.detach() * 2


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3),)
