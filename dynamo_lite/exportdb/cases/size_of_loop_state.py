"""A loop that changes the size of a tensor

What a loop on data carries from round to round has one size, or one that the operator can make room for: a tensor that
gets shorter (`order = order[far]`), that grows by the same in each round, or whose length the facts bound (`nonzero` of
a mask of fixed length, as in a worklist). How many elements `torch.unique` leaves of a tensor of unknown length is not
bounded: carry a mask of what is in it, or a tensor with room for all and their number.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "loops", "worklist", "dynamic size")
ERROR = "branch-differs"


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        found = (x > 0).nonzero().squeeze(1)
        while found.numel() > 1:  # stops here
            found = torch.unique(found // 2)
        return found


class Rewrite(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        numbers, found = torch.arange(x.shape[0]), x > 0
        while found.sum() > 1:
            halves = torch.where(found, numbers // 2, -1)
            found = (numbers[:, None] == halves).any(1)
        return found.nonzero().squeeze(1)


def inputs() -> tuple[Tensor]:
    return (torch.tensor([1.0, -1.0, 2.0, 3.0, -1.0, 1.0]),)
