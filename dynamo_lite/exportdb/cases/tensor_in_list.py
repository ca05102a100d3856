"""`tensor in list`

`in` compares with each element and branches on the answer. `torch.isin` gives the answer as a tensor.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "python", "builtins")
ERROR = "data-dependent-branch"


class Module(nn.Module):
    def forward(self, x: Tensor, token: Tensor) -> Tensor:
        stops = [torch.tensor(2), torch.tensor(5)]
        return x * 0 if token in stops else x  # stops here


class Rewrite(nn.Module):
    def forward(self, x: Tensor, token: Tensor) -> Tensor:
        stops = torch.tensor([2, 5])
        return torch.where(torch.isin(token, stops), x * 0, x)


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3), torch.tensor(5))
