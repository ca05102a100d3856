"""Tensors that branches within one another hand on, and that are changed in place under any of their names."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import MIX, NEG, POS, call, program

_BIG = POS * 5
_ALL = (call(POS), call(NEG), call(MIX), call(_BIG))


@program(*_ALL)
class one_of_three_changed_in_place(nn.Module):
    def forward(self, x):
        a, b = x * 1, x * 2
        if x.sum() > 0:
            c = a if x.max() > 2 else b
        else:
            c = x * 3
        c += 1
        return a, b, c


@program(*_ALL)
class another_name_of_it_changed_in_place(nn.Module):
    def forward(self, x):
        a, b = x * 1, x * 2
        c = b
        if x.sum() > 0:
            if x.max() > 2:
                c = a
            else:
                b = b * 2
        a.mul_(2)
        b.add_(1)
        c[0] = 7.0
        return a, b, c


@program(*_ALL)
class one_new_tensor_under_two_names(nn.Module):
    def forward(self, x):
        a, b = x * 1, x * 2
        if x.sum() > 0:
            a = x.sin()
            b = a
        if x.max() > 2:
            c = b
        else:
            c = x * 1
        a.add_(1)
        c.mul_(2)
        return a, b, c


@program(*_ALL)
class three_levels_of_branches(nn.Module):
    def forward(self, x):
        a, b, c = x * 1, x * 2, x * 3
        if x.sum() > -4:
            if x.sum() > 0:
                if x.max() > 2:
                    a, b = b, a
                else:
                    c = b
            else:
                b = c
        a.add_(1)
        b.mul_(2)
        c[1] = 0.5
        return a, b, c


@program(*_ALL)
class the_input_changed_in_place_by_a_nested_branch(nn.Module):
    def forward(self, x):
        y = x * 2
        if x.sum() > 0:
            y = x if x.max() > 2 else x * 3
        y.add_(1)
        return y * 1


@program(*_ALL)
class changed_in_place_within_a_later_branch(nn.Module):
    def forward(self, x):
        a, b = x * 1, x * 2
        c = (a if x.max() > 2 else b) if x.sum() > 0 else x * 3
        if x.mean() > 0.5:
            c.add_(1)
            if x.max() > 4:
                a.mul_(3)
        else:
            b.sub_(1)
        return a, b, c


@program(*_ALL)
class a_helper_hands_on_one_of_its_arguments(nn.Module):
    def larger(self, one, other):
        if one.sum() > other.sum():
            return one
        if one.max() > 4:
            return other
        return one - other

    def forward(self, x):
        a, b = x * 1, 1 - x
        c = self.larger(a, b)
        c.add_(1)
        d = self.larger(c, a)
        d.mul_(2)
        return a, b, c, d


@program(*_ALL, refused="branch-unsupported")
class a_view_that_a_nested_side_made(nn.Module):
    """Which rows of `a` change depends on two predicates."""

    def forward(self, x):
        a, b = x * 1, x[0] * 2
        if x.sum() > 0:
            b = a[0] if x.max() > 2 else a[1]
        b.add_(1)
        return a, b


@program(*_ALL)
class a_tensor_of_a_loop_and_of_a_branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(3, 2))

    def forward(self, x):
        y = x * 2
        if x.sum() > 0:
            while y.sum() < 20:
                y = y + 1
            if x.max() > 2:
                y = self.kept
        y.add_(1)
        return y * 1, self.kept * 1
