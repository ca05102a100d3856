"""Greedy decoding until a token ends the sequence

Each round appends the best token and runs the model again. The loop becomes a while_loop with room for all rounds, and
one copy of the model. The result is a tensor of integers, so no gradient is lost though the parameters require one.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("control-flow", "decoding", "generate")


class Module(nn.Module):
    END = 3

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.head = nn.Linear(8, 10)

    def forward(self, ids: Tensor) -> Tensor:
        for _ in range(16):
            new = self.head(self.embedding(ids).mean(1)).argmax(-1, keepdim=True)
            ids = torch.cat((ids, new), dim=1)
            if (new == self.END).all():
                break
        return ids


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor([[1, 2]]),)
