"""Lengths handed to pack_padded_sequence

A packed sequence has as many rows as the lengths sum up to, and a batch of another size in each step. The layer is one
operator of the program, whose kernel reads the batch sizes; sizes of its results are known at run time only.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

TAGS = ("packed sequence", "lengths", "recurrent", "lstm", "gru", "rnn", "padding")


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        y, (h, _) = self.lstm(packed)
        return pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])[0], h[-1]


def inputs() -> tuple[Tensor, ...]:
    return torch.randn(2, 5, 3), torch.tensor([3, 5])


def dynamic_shapes() -> dict[str, Any]:
    batch = Dim("batch")
    return {"x": {0: batch, 1: Dim("time")}, "lengths": {0: batch}}


def other_inputs() -> list[tuple[Tensor, ...]]:
    return [(torch.randn(3, 7, 3), torch.tensor([1, 6, 2])), (torch.randn(1, 1, 3), torch.tensor([1]))]
