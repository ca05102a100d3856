"""Lists, tuples, modules and dicts of Python's that are indexed by a number of the data."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import call, program

PICKS = tuple(call(torch.tensor(i), torch.tensor([0.5, -1.0, 2.0]) + i) for i in (1, 0, 2, 4, -1, -5, 5, -6))
"""The last two are out of range."""
ROWS = tuple(
    call(torch.tensor([[[3.0, 1.0], [0.1, 0.2], [2.0, 2.0], [-4.0, 0.5]]]) * scale + shift)
    for scale, shift in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.5), (3.0, -2.0))
)


class _Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(3, 3) for _ in range(5))


@program(*PICKS)
class choice_called(_Experts):
    def forward(self, i, x):
        return self.experts[i.item()](x)


@program(*PICKS)
class choice_in_a_variable(_Experts):
    def forward(self, i, x):
        expert = self.experts[i]
        y = expert(x)
        return y * 2


@program(*PICKS)
class choice_twice(_Experts):
    def forward(self, i, x):
        y = self.experts[i.item()](x)
        return self.experts[y.argmax().item()](y)


@program(*PICKS)
class choice_in_a_loop(_Experts):
    def forward(self, i, x):
        for _ in range(3):
            x = self.experts[i.item()](x)
            i = x.argmax()
        return x


@program(*PICKS)
class choice_of_numbers(nn.Module):
    def forward(self, i, x):
        k = (3, 1, 4, 1, 5)[i]
        return x * [0.1, 0.2, 0.5, 0.7, 1.0][i.item()], k


@program(*PICKS)
class choice_of_tensors(nn.Module):
    def forward(self, i, x):
        return [x, x + 1, x * 2, x - 1, x / 2][i.item()] + 1


@program(*PICKS)
class choice_of_functions(nn.Module):
    def forward(self, i, x):
        f = [torch.sin, torch.cos, torch.tanh, torch.relu, torch.exp][i.item()]
        return f(x)


@program(*PICKS)
class choice_of_strings(nn.Module):
    def forward(self, i, x):
        mode = ["sum", "mean", "max", "min", "none"][i.item()]
        if mode == "max":
            return x + 1
        return x


@program(*PICKS)
class choice_of_a_dict(nn.Module):
    """-1 is no key."""

    def forward(self, i, x):
        return {0: x, 1: x * 2, 2: x - 1, 3: x + 4, 4: x / 2}[i.item()]


@program(*PICKS, refused="branch-unsupported")
class choice_caught(_Experts):
    def forward(self, i, x):
        try:
            return self.experts[i.item()](x)
        except IndexError:
            return x


@program(*ROWS)
class inner_size_of_one_side(nn.Module):
    def forward(self, x):
        norms = x.norm(dim=-1)[0]
        if norms.min() < 0.5 * norms.mean():
            x = x[:, norms >= 0.5 * norms.mean()]
        return x * 2


@program(*ROWS)
class size_that_is_not_zero(nn.Module):
    def forward(self, x):
        labels = (x[0, :, 0] > 0).long()
        valid = x[0, :, 1] > 0.4
        if valid.sum() == 0:
            return x.sum() * 0
        return nn.functional.cross_entropy(x[0][valid], labels[valid])


@program(*ROWS)
class truth_of_a_row(nn.Module):
    def forward(self, x):
        order, keep = x[0, :, 0].argsort(), torch.ones(4, dtype=torch.bool)
        for i in range(3):
            a = order[i]
            if not keep[a]:
                continue
            if x[0, a, 1] > 0.4:
                keep[order[i + 1]] = False
        return keep
