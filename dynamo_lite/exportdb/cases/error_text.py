"""The message of an error

A program that tries an operator and catches its error is exported as it ran. Messages are eager's where torch can be
asked for them. Where it cannot (a size that only run time knows, a kernel of yours), reading the message is refused:
decide by the error's class.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("python", "data-dependent")
ERROR = "error-text"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows = x.nonzero()
        try:
            return rows @ torch.ones(5, 5, dtype=torch.int64)
        except RuntimeError as error:
            if "cannot be multiplied" in str(error):  # stops here
                return rows + 1
            raise


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows = x.nonzero()
        if rows.shape[1] == 5:
            return rows @ torch.ones(5, 5, dtype=torch.int64)
        return rows + 1


def inputs() -> tuple[Tensor, ...]:
    return (torch.randn(3, 4),)
