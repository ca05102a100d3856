"""A list whose length depends on the data

A branch that adds to a list, in a comprehension or a loop: which items are there is known at run time only.
torch.stack, torch.cat, len, the truth of the list, loops over it
and, of numbers, an index work.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAGS = ("data-dependent", "control-flow", "python")


class Module(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, int]:
        rows = [row for row in x if row.sum() > 0]
        keep = []
        for i in range(x.shape[0]):
            if x[i].max() < 2:
                keep.append(i)
        return torch.stack(rows) if rows else x[:0], x[keep], len(keep)


def inputs() -> tuple[Tensor]:
    return (torch.tensor([[1.0, 2.0], [-3.0, 1.0], [0.5, 0.5]]),)


def other_inputs() -> list[tuple[Tensor]]:
    return [(-torch.ones(3, 2),), (torch.ones(3, 2) * 3,)]
