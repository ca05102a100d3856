"""Tensors kept from the first call on: right where they are the same in every call, refused elsewhere."""

from __future__ import annotations

import torch
from torch import nn

from ..probe import equal, refused, t

# Programs as users write them.


class Kept(nn.Module):
    """Computes `make(x)` on its first call and keeps it."""

    def __init__(self, make):
        super().__init__()
        self.make = make
        self.weight = nn.Parameter(torch.ones(3, 3))
        self.kept = None

    def forward(self, x):
        if self.kept is None:
            self.kept = self.make(self, x)
        return x + self.kept


@equal
def mask_of_constants():
    return Kept(lambda self, x: torch.triu(torch.ones(3, 3))), (t(3, 3),)


@equal
def literal_is_kept():
    return Kept(lambda self, x: torch.tensor([1.0, 2.0, 3.0])), (t(3, 3),)


@equal
def table_by_size_in_a_dict():
    class Rotary(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = {}

        def forward(self, x):
            n = x.shape[0]
            if n not in self.tables:
                angles = torch.arange(n).float()[:, None]
                self.tables[n] = (angles.cos(), angles.sin())
            cos, sin = self.tables[n]
            return x * cos + x.flip(0) * sin

    return Rotary(), (t(3, 3),)


@equal
def value_of_a_parameter_is_kept():
    return Kept(lambda self, x: self.weight * 2), (t(3, 3),)


@refused("new-state-tensor")
def value_of_an_input_is_kept():
    return Kept(lambda self, x: x * 2), (t(3, 3),)


@refused("new-state-tensor")
def random_value_is_kept():
    return Kept(lambda self, x: torch.rand(3, 3)), (t(3, 3),)


@refused("new-state-tensor")
def kept_value_is_changed_in_place():
    class Grows(Kept):
        def forward(self, x):
            result = super().forward(x)
            self.kept.add_(1)
            return result

    return Grows(lambda self, x: torch.ones(3, 3)), (t(3, 3),)
