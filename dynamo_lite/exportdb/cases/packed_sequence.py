"""Lengths handed to pack_padded_sequence

A packed sequence has a batch of another size in each step, made of the lengths, which are data. Run the layer on the
padded sequence, and take what lies within the lengths: what comes behind changes nothing before it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

TAGS = ("packed sequence", "lengths", "recurrent", "lstm", "gru", "rnn")
ERROR = "data-dependent-value"


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(3, 4, batch_first=True)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        y, _ = self.gru(packed)  # stops here
        return pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])[0]


class Rewrite(Module):
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        y, _ = self.gru(x)
        within = torch.arange(x.shape[1]) < lengths[:, None]
        return torch.where(within[..., None], y, 0.0)


def inputs() -> tuple[Tensor, ...]:
    return torch.randn(2, 5, 3), torch.tensor([5, 3])
