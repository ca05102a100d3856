"""Views that the sides of a branch make of tensors from around them, and that are changed in place behind it."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import MIX, NEG, POS, SIGNS, call, program

_ALL = (*SIGNS, call(POS * 5))
_ROWS = {"dynamic_shapes": ({0: torch.export.Dim.AUTO},)}


@program(*_ALL)
class row_chosen_by_data_changed_in_place(nn.Module):
    def forward(self, x):
        y = x * 2
        row = y[0] if x.sum() > 0 else y[2]
        row += 1
        return y, row


@program(*_ALL)
class row_or_new_tensor_changed_in_place(nn.Module):
    def forward(self, x):
        y = x * 2
        if x.sum() > 0:
            row = y[0]
            row.mul_(3)
        else:
            row = x[1] * 3
        row.add_(1)
        y.mul_(2)
        row[0] = 7.0
        return y, row


@program(*_ALL)
class row_of_a_buffer_changed_in_place(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(3, 2))

    def forward(self, x):
        row = self.state[0] if x.sum() > 0 else self.state[1:].t()[:, 1]
        row.add_(x[0])
        return row * 1


@program(*_ALL)
class row_of_the_input_changed_in_place(nn.Module):
    def forward(self, x):
        first, _, last = x.unbind(0) if x.max() > 2 else [row * 1 for row in x]
        first.add_(1)
        last.zero_()
        return first * 1


@program(*_ALL)
class views_of_one_tensor_by_two_branches(nn.Module):
    def forward(self, x):
        y = x * 2
        one = y[0] if x.sum() > 0 else x[0] * 1
        other = y[:1].squeeze(0) if x.max() > 2 else y[1]
        one.add_(1)
        other.mul_(2)
        y[0, 1] = 5.0
        return y, one, other


@program(*_ALL)
class view_changed_within_a_later_branch(nn.Module):
    def forward(self, x):
        y, z = x * 2, x * 3
        part = y[:2] if x.sum() > 0 else z[1:]
        if x.max() > 2:
            part[0] = 7.0
        else:
            y.sub_(1)
        return y, z, part


@program(*_ALL)
class view_beside_a_tensor_of_nested_branches(nn.Module):
    """The run with flags (differences/same_memory.py) knows the views as well."""

    def forward(self, x):
        a, b = x * 1, x * 2
        row, c = a[0], b
        if x.sum() > 0:
            row = b[1]
            c = a if x.max() > 2 else x * 3
        c.add_(1)
        row.mul_(2)
        return a, b, c, row


@program(call(MIX), call(POS), call(NEG[:2]), call(torch.ones(5, 2)), kw=_ROWS)
class first_row_of_a_dynamic_number(nn.Module):
    def forward(self, x):
        y = x * 2
        row = y[0] if x.sum() > 0 else x[0] * 3
        row.add_(1)
        return y, row


@program(*_ALL, refused="branch-unsupported")
class row_of_a_parameter_changed_in_place(nn.Module):
    """Eager refuses it on one side: a view of a leaf that requires grad."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 2))

    def forward(self, x):
        row = self.weight[0] if x.sum() > 0 else self.weight[1] * 2
        row.add_(1)
        return row * 1


@program(*_ALL, refused="branch-unsupported")
class windows_changed_in_place(nn.Module):
    """Elements of overlapping windows share one place."""

    def forward(self, x):
        y = x * 2
        windows = y.unfold(0, 2, 1) if x.sum() > 0 else torch.zeros(2, 2, 2)
        windows[0].add_(1)
        return y, windows * 1
