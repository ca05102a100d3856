"""max and min of tensors and numbers: the result is the one or the other. Roots of numbers of the data."""

from __future__ import annotations

import math

import torch
from torch import nn

from tests.control_flow.programs.table import call, program

INDICES = tuple(call(torch.tensor(row)) for row in ([1, 2, 7], [0, 1, 1], [3, 3, 3], [4, 0, 0]))
NUMBERS = tuple(call(torch.tensor(n)) for n in (9.0, 2.5, 0.0, -4.0, float("nan"), float("inf")))


@program(*INDICES)
class size_of_at_least_four(nn.Module):
    def forward(self, i):
        n = max(i.max() + 1, 4)
        return torch.zeros(n).index_add(0, i, torch.ones(3))


@program(*INDICES)
class factor_of_at_least_one(nn.Module):
    def forward(self, i):
        return i.float() / max(1, (i > 2).sum())


@program(*INDICES)
class least_of_three(nn.Module):
    def forward(self, i):
        return torch.zeros(3) + min(4, i.max(), i[0] + 3)


@program(*INDICES)
class largest_of_a_list(nn.Module):
    def forward(self, i):
        return torch.zeros(3) + max([i[0], i[1], 2])


@program(*INDICES, refused="branch-differs")
class dtype_of_a_tensor_or_of_a_number(nn.Module):
    def forward(self, i):
        return torch.tensor(1, dtype=torch.int32) * max(i.max(), 4)


@program(*INDICES)
class class_of_the_larger(nn.Module):
    def forward(self, i):
        return torch.ones(2) if isinstance(max(i.max(), 4), int) else torch.ones(2) * 3


@program(*INDICES, refused="branch-differs")
class tensor_or_number_as_output(nn.Module):
    def forward(self, i):
        return max(i.max() + 1, 4)


@program(*NUMBERS)
class larger_of_nan_and_one(nn.Module):
    def forward(self, x):
        return torch.ones(3) * max(x, 1.0), torch.ones(3) * max(1.0, x)


@program(*NUMBERS)
class larger_half(nn.Module):
    def forward(self, x):
        return x.half() * max(x.half(), 2)


@program(*NUMBERS[:3], *NUMBERS[4:])
class root_of_a_number(nn.Module):
    def forward(self, x):
        return torch.ones(3) * math.sqrt(x.item())


@program(*NUMBERS)
class root_of_what_is_positive(nn.Module):
    def forward(self, x):
        n = x.item()
        return torch.ones(3) * math.sqrt(n) if n > 0 else torch.zeros(3)


@program(*NUMBERS, refused="branch-unsupported")
class root_whose_error_is_caught(nn.Module):
    def forward(self, x):
        try:
            return torch.ones(3) * math.sqrt(x.item())
        except ValueError:
            return torch.zeros(3)


@program(*INDICES[:2])
class root_of_an_integer(nn.Module):
    def forward(self, i):
        return i / math.sqrt(i.sum().item())
