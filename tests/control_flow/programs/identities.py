"""`is` of tensors that are one as branches went, and dicts with a key that branches chose."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import MIX, NEG, POS, call, program

_ALL = (call(POS), call(NEG), call(MIX), call(POS * 5))


@program(*_ALL)
class copies_what_is_the_input(nn.Module):
    def forward(self, x):
        y = x
        if x.abs().max() > 2:
            y = x / x.abs().max()
        y = y.clone() if y is x else y
        y += 1
        return y


@program(*_ALL)
class which_of_two_it_is(nn.Module):
    def forward(self, x):
        a, b = x * 1, x * 2
        if x.sum() > 0:
            c = a if x.max() > 2 else b
        else:
            c = x * 3
        if c is a:
            return a + 1
        return b if c is not b else c - 1


@program(*_ALL)
class is_and_then_changed_in_place(nn.Module):
    def forward(self, x):
        a = x * 1
        b = a if x.sum() > 0 else x * 2
        same = a is b
        b.add_(1)
        if same:
            a.mul_(2)
        return a, b


@program(*_ALL)
class a_view_is_another_object(nn.Module):
    """Of one memory, and not one tensor."""

    def forward(self, x):
        a = x * 1
        view = a[:]
        b = view if x.sum() > 0 else x * 2
        return x + 1 if b is view else x - 1


@program(*_ALL)
class level_by_a_chosen_stride(nn.Module):
    def forward(self, x):
        features = {8: x, 16: x * 2, 32: x.sum(0)}
        stride = 8
        if x.sum() > 0:
            stride = 16 if x.max() > 2 else 32
        return features[stride].sum() + stride


@program(*_ALL, refused="branch-unsupported")
class a_view_made_on_a_side_is_another_object(nn.Module):
    def forward(self, x):
        a = x * 1
        b = a[:] if x.sum() > 0 else x * 2
        return x + 1 if b is a else torch.zeros(2)
