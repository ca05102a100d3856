"""Beam search

A fixed number of steps is unrolled. The best beams are picked with topk and their histories with index_select, so that
each size is constant. Steps until a token ends are a loop on data (data_dependent_loop, generate).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("beam search", "decoding", "generation", "topk", "loops")


class Module(nn.Module):
    def __init__(self, words: int = 7, beams: int = 3, steps: int = 4) -> None:
        super().__init__()
        self.next, self.beams, self.steps, self.words = nn.Embedding(words, words), beams, steps, words

    def forward(self, start: Tensor) -> tuple[Tensor, Tensor]:
        first = self.next(start).log_softmax(-1)
        scores, last = first.topk(self.beams)
        history = last[:, None]
        for _ in range(self.steps - 1):
            ahead = scores[:, None] + self.next(history[:, -1]).log_softmax(-1)
            scores, picked = ahead.flatten().topk(self.beams)
            history = torch.cat([history.index_select(0, picked // self.words), (picked % self.words)[:, None]], 1)
        return history, scores


def inputs() -> tuple[Tensor, ...]:
    return (torch.tensor(2),)
