"""Tensors that are another one, or not, as a branch went, and are then changed in place."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import MIX, NEG, POS, SIGNS, program


@program(*SIGNS)
class write_to_either(nn.Module):
    def forward(self, x):
        a, b = x * 2, x + 1
        y = a if x.sum() > 0 else b
        y.add_(1)
        return a, b, y * 2


@program(*SIGNS)
class write_to_the_other_name(nn.Module):
    def forward(self, x):
        a, b = x * 2, x + 1
        y = a if x.sum() > 0 else b
        a.mul_(3)
        b.sub_(1)
        return a, b, y


@program(*SIGNS)
class write_to_input_or_result(nn.Module):
    def forward(self, x):
        y = x
        if x.max() > 2:
            y = x * 2
        y.add_(1)
        return x, y + 0


@program(*SIGNS)
class write_to_input_seen_by_a_copy(nn.Module):
    def forward(self, x):
        y = x
        if x.max() > 2:
            y = x * 2
        x.add_(1)
        return y


@program(*SIGNS)
class write_through_a_view(nn.Module):
    def forward(self, x):
        a = x * 2
        y = a if x.sum() > 0 else x + 1
        y[0].add_(5)
        y.view(-1)[2:].mul_(2)
        return a, y


@program(*SIGNS)
class other_is_a_view(nn.Module):
    def forward(self, x):
        a = x * 2
        row = a[0] if x.sum() > 0 else a[1]
        row.add_(1)
        return a, row.sum()


@program(*SIGNS)
class base_of_a_view_is_written(nn.Module):
    def forward(self, x):
        a = x * 2
        row = a[0] if x.sum() > 0 else a[1]
        a.mul_(3)
        return a, row + 0


@program(*SIGNS)
class buffer_or_local(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(3, 2))

    def forward(self, x):
        y = self.kept if x.sum() > 0 else x.clone()
        y.add_(x)
        return y.sum(), self.kept * 2


@program(*SIGNS)
class two_branches_one_after_the_other(nn.Module):
    def forward(self, x):
        a, b = x * 2, x + 1
        y = a if x.sum() > 0 else b
        z = y if x.max() > 2 else a
        z.add_(1)
        a.mul_(2)
        return a, b, y, z + 0


@program(*SIGNS)
class same_name_again(nn.Module):
    def forward(self, x):
        a, b = x * 2, x + 1
        if x.sum() > 0:
            b = a
        if x.max() > 2:
            b = a
        a.add_(1)
        b.mul_(2)
        return a, b


@program(*SIGNS)
class write_on_a_side_of_another_branch(nn.Module):
    def forward(self, x):
        a = x * 2
        y = a if x.sum() > 0 else x + 1
        if x.max() > 2:
            y.add_(1)
        else:
            a.mul_(2)
        return a, y


@program(*SIGNS)
class write_in_a_loop(nn.Module):
    def forward(self, x):
        a = x * 2
        y = a if x.sum() > 0 else x + 1
        n = 0
        while a.sum() < 30 and n < 4:
            y.add_(1)
            n = n + 1
            a.mul_(1.5)
        return a, y, n


@program(*SIGNS, refused="branch-unsupported")
class predicate_changed_behind(nn.Module):
    def forward(self, x):
        a, flag = x * 2, x.sum() > 0
        y = a if flag else x + 1
        flag.logical_not_()
        y.add_(1)
        return a, y, flag


@program((POS, torch.tensor(3)), (NEG, torch.tensor(0)), (MIX, torch.tensor(9)))
class decided_by_a_number(nn.Module):
    def forward(self, x, n):
        a = x * 2
        y = a if n.item() > 2 else x + 1
        y.add_(1)
        return a, y


@program((POS, torch.tensor([True, False])), (NEG, torch.tensor([True, True])), (MIX, torch.tensor([False, False])))
class decided_by_a_size(nn.Module):
    def forward(self, x, mask):
        a = x * 2
        y = a if mask.nonzero().shape[0] > 1 else x + 1
        y.add_(1)
        return a, y


@program(*SIGNS)
class sides_of_unlike_shape(nn.Module):
    def forward(self, x):
        a = x * 2
        y = a if x.sum() > 0 else x[:1] + 1
        y.add_(1)
        return a, y


@program(*SIGNS)
class unlike_shape_seen_by_nothing(nn.Module):
    def forward(self, x):
        y = x * 2 if x.sum() > 0 else x[:1] + 1
        y.add_(1)
        return y


@program(*SIGNS, refused="branch-unsupported")
class reshaped_in_place(nn.Module):
    def forward(self, x):
        a = x * 2
        y = a if x.sum() > 0 else x + 1
        y.t_()
        return a, y


@program(*SIGNS)
class swapped(nn.Module):
    def forward(self, x):
        a, b = x * 2, x + 1
        if x.sum() > 0:
            a, b = b, a
        a.add_(1)
        b.mul_(3)
        return a, b


@program(*SIGNS)
class in_a_container(nn.Module):
    def forward(self, x):
        a, box = x * 2, []
        box.append(a if x.sum() > 0 else x + 1)
        box[0] += 1
        a -= 2
        return a, box


@program(*SIGNS)
class parameter_without_gradient(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 2))

    def forward(self, x):
        y = self.weight if x.sum() > 0 else x * 2
        with torch.no_grad():
            y.mul_(2)
        return self.weight * x, y


@program(*SIGNS, refused="branch-unsupported")
class parameter_with_gradient(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 2))

    def forward(self, x):
        y = self.weight if x.max() > 2 else x * 2
        y.mul_(2)  # eager raises where it is the parameter
        return self.weight * x, y


@program(*SIGNS)
class seen_behind_autograds_back(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 2))

    def forward(self, x):
        a = self.weight * x
        y = a if x.sum() > 0 else a + 1
        y.detach().mul_(2)
        return a, y


ROUNDS = tuple((x, torch.tensor(n)) for x in (POS, NEG, MIX) for n in (2, 0, 5))


@program(*ROUNDS)
class result_of_a_loop_is_written(nn.Module):
    def forward(self, x, n):
        a = x * 2
        y = a
        for i in range(n.item()):
            y = y + i
        y.mul_(2)
        return a, y


@program(*ROUNDS)
class what_a_loop_began_with_is_written(nn.Module):
    def forward(self, x, n):
        a = x * 2
        y = a
        for i in range(n.item()):
            y = y + 1 if y.sum() > 3 else y * 2 - i
        a.mul_(2)
        return a, y


@program(*ROUNDS)
class two_names_of_a_loops_result(nn.Module):
    def forward(self, x, n):
        a = x * 2
        y = z = a
        for i in range(n.item()):
            y = z = y + i
        y.mul_(2)
        return a, y, z


@program(*ROUNDS, refused="branch-unsupported")
class iterations_swap_what_is_written(nn.Module):
    def forward(self, x, n):
        a, z = x * 2, x + 1
        y = a
        for _ in range(n.item()):
            y, z = z, y
        a.add_(1)
        return a, y, z


@program(*SIGNS)
class written_in_a_loop_that_began_with_it(nn.Module):
    def forward(self, x):
        a, n = x * 2, 0
        y = a if x.max() > 2 else x + 1
        while y.sum() < 20 and n < 5:
            a.add_(1)
            y, n = y * 2, n + 1
        return a, y, n


@program(
    (torch.ones(2, 3), torch.ones(4, 3)),
    (-torch.ones(2, 3), torch.arange(9.0).reshape(3, 3)),
    kw={"dynamic_shapes": {"x": None, "s": {0: torch.export.Dim("rows", min=1)}}},
)
class written_behind_a_scan(nn.Module):
    def forward(self, x, s):
        a = x * 2
        y = a
        for row in s:
            y = torch.tanh(y + row)
        y.mul_(2)
        a.add_(1)
        return a, y


@program(*SIGNS)
class two_ways_to_one_tensor(nn.Module):
    """`x` is the input on one side, and on the other, too, if the loop there has no iteration."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        if x.sum() < 3:
            while x.sum() < 1 and self.count < 3:
                x = x + 1
                self.count.add_(1)
        x.add_(3)
        return x


@program(*SIGNS)
class seen_by_a_new_class(nn.Module):
    """Its only other name is an attribute of a class that the program has made."""

    def forward(self, x):
        class Held:
            pass

        a = x * 2
        Held.row = a[0]
        held = Held()
        row = a[0] if x.sum() > 0 else x[0] * 3
        row.add_(1)
        return held.row * 1, row


def _held(row):
    rows = []

    class Held:
        def first(self):
            return rows[0]

    rows.append(row)
    return Held()


@program(*SIGNS)
class seen_by_a_method_of_a_new_class(nn.Module):
    def forward(self, x):
        a = x * 2
        held = _held(a[0])
        row = a[0] if x.sum() > 0 else x[0] * 3
        row.add_(1)
        return held.first() * 1, row
