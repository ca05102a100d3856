"""Tensors that the iterations of a loop leave as they were, or make anew, as data go, and that are changed in place."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import MIX, NEG, POS, call, program

_ALL = (call(POS), call(NEG), call(MIX), call(POS * 5))


@program(*_ALL)
class made_anew_in_some_iterations(nn.Module):
    def forward(self, x):
        y = x * 2
        z, w = y, x * 3
        v = w
        for i in range(12):
            if y.sum() > 20:
                break
            if w.sum() < 0:
                w = w + 2
            y.add_(1)
            w.mul_(1.5)
            if i > 2:
                y = y + w
        y.add_(1)
        w.sub_(1)
        return y, z, w, v


@program(*_ALL)
class the_first_one_is_changed_in_the_iterations(nn.Module):
    def forward(self, x):
        y = x * 2
        z = y
        while y.sum() < 20:
            if y.sum() < 0:
                y = y + 3
            z.add_(2)
            y.mul_(1.1)
        return y, z


@program(*_ALL)
class the_input_changed_in_the_first_round(nn.Module):
    def forward(self, x):
        n = 0
        while x.sum() < 30 and n < 20:
            x.add_(1)
            x = x + 1
            n += 1
        return x * 1, n


@program(*_ALL)
class kept_by_a_loop_within_a_branch(nn.Module):
    def forward(self, x):
        a = x * 1
        y = a
        if x.sum() > -4:
            for i in range(12):
                if y.sum() > 9:
                    break
                if y.max() < 1:
                    y = y + i
                else:
                    y.add_(0.5)
        y.mul_(2)
        return a, y


@program(*_ALL)
class two_places_change_roles(nn.Module):
    """Which of them is which depends on the number of iterations: known where nothing else is a name of them."""

    def forward(self, x):
        y, z = x * 2, x * 3
        for _ in range(12):
            if y.sum() > 20:
                break
            y, z = z, y + 1
            y.add_(1)
        return y, z


@program(*_ALL)
class carried_and_changed_in_place(nn.Module):
    """torch's decompositions refuse a body that changes what it is given."""

    def forward(self, x):
        y = x * 2
        while y.sum() < 20:
            y.add_(1)
            y = y * 1.5
        return y


@program(*_ALL, refused="branch-unsupported")
class a_row_of_the_input_behind_a_loop(nn.Module):
    def forward(self, x):
        row = x[0]
        for i in range(12):
            if row.sum() > 9:
                break
            row = x[i % 3]
        row.add_(1)
        return x * 1


@program(*_ALL)
class one_of_two_under_no_other_name(nn.Module):
    def forward(self, x):
        y = x * 2
        best = y
        while y.sum() < 20:
            y = y + 1
            if y.max() < 3:
                best = y
        return best, y, torch.zeros(2)
