"""A forward that returns its loss

Cross entropy with labels is a handful of operators; the program can be trained.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("training",)


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 3)

    def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
        logits = self.lin(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 4), torch.tensor([0, 2]))
