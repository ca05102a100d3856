"""A submodule wrapped by torch.compile

The module inside is what is exported; a note says that the wrapper was ignored.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules", "torch.compile")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.compiled = torch.compile(self.lin, backend="eager")

    def forward(self, x: Tensor) -> Tensor:
        return self.compiled(x) + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 3),)
