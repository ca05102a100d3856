"""Recurrent layers

`nn.LSTM` is one operator of the program, with its weights as inputs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("modules",)


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, (h, _) = self.lstm(x)
        return y, h


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(2, 5, 3),)
