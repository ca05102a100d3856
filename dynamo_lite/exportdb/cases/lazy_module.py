"""A lazy module that has not been called

Its parameters have no shape yet. One call of the module gives them one.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules", "parameters")
ERROR = "invalid-arguments"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.LazyLinear(2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.lin(x).sign() * 0


class Rewrite(Module):
    def __init__(self) -> None:
        super().__init__()
        self(*inputs())


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(4, 3),)
