"""Two layers that share one weight

The weight is one input of the program, under the name that it has first, and the state dict has both names.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules", "parameters", "aliasing")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.embed(ids))


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor([1, 4]),)
