"""Branches on data: if, elif, early returns, boolean operators, numbers."""

from __future__ import annotations

import math

import torch
from torch import nn

from tests.control_flow.programs.table import NEG, POS, SIGNS, call, program


# -- if / else
@program(*SIGNS)
class if_else(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x.sin()
        else:
            y = x.cos()
        return y + 1


@program(*SIGNS)
class early_return_one(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        y = x - 1
        return y.relu()


@program(*SIGNS)
class early_return_both(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2, x.sum()
        else:
            return x - 2, x.mean()


@program(*SIGNS)
class conditional_expression(nn.Module):
    def forward(self, x):
        return (x.sin() if x.sum() > 0 else x.cos()) * (2 if x.max() > 1 else 3)


@program(*SIGNS)
class if_without_else(nn.Module):
    def forward(self, x):
        y = x + 1
        if x.sum() > 0:
            y = y * 10
        return y


@program(*SIGNS)
class nested(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            if x.max() > 2:
                y = x * 2
            else:
                y = x * 3
        else:
            if x.min() < -1:
                y = x * 5
            else:
                y = x * 7
            y = y + 1
        return y - 1


@program(call(torch.tensor(5.0)), call(torch.tensor(1.5)), call(torch.tensor(0.5)), call(torch.tensor(-3.0)))
class elif_chain(nn.Module):
    def forward(self, x):
        if x > 3:
            r = x * 2
        elif x > 1:
            r = x + 100
        elif x > 0:
            r = -x
        else:
            r = x**2
        return r


@program(call(torch.tensor(5.0)), call(torch.tensor(1.5)), call(torch.tensor(0.5)), call(torch.tensor(-3.0)))
class elif_returns(nn.Module):
    def forward(self, x):
        if x > 3:
            return x * 2
        elif x > 1:
            return x + 100
        elif x > 0:
            return -x
        return x**2


def _helper(x, y):
    if (x * y).sum() > 0:
        return x + y
    return x - y


@program(call(POS, POS), call(POS, NEG))
class in_helper(nn.Module):
    def forward(self, x, y):
        return _helper(x, y) * _helper(y, x + 1)


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 4)
        self.b = nn.Linear(2, 4)

    def forward(self, x):
        if x.mean() > 0:
            return self.a(x)
        else:
            return self.b(x).relu()


@program(*SIGNS)
class in_submodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = Gate()
        self.h = nn.Linear(4, 2)
        self.g2 = Gate()

    def forward(self, x):
        return self.g2(self.h(self.g(x)))


@program(*SIGNS)
class sequence_of_ifs(nn.Module):
    def forward(self, x):
        for i in range(6):
            if x.sum() > i:
                x = x - 0.5
            else:
                x = x * 1.5
        return x


# -- boolean operators
@program(*SIGNS)
class and_or_not(nn.Module):
    def forward(self, x):
        if (x.sum() > 0 and x.max() > 2) or not x.min() > -2:
            return x + 1
        return x - 1


@program(*SIGNS)
class or_of_values(nn.Module):
    def forward(self, x):
        y = x.sum() or x.max()
        return y * 2


@program(*SIGNS)
class chained_comparison(nn.Module):
    def forward(self, x):
        if 0 < x.sum() < 5:
            return x + 1
        return x - 1


@program(call(torch.tensor([1.0, 2.0])), call(torch.tensor([-1.0, 2.0])), call(torch.tensor([-1.0, -2.0])))
class bool_call(nn.Module):
    def forward(self, x):
        flag = bool(x.sum() > 0)
        if flag:
            x = x * 2
        if not flag:
            x = x - 1
        return x


@program(call(torch.tensor([1.0, 2.0])), call(torch.tensor([-1.0, 2.0])), call(torch.tensor([-1.0, -2.0])))
class not_as_value(nn.Module):
    def forward(self, x):
        flag = not (x.sum() > 0)
        if flag:
            x = x * 2
        return x, flag


@program(call(torch.tensor([1.0, 2.0])), call(torch.tensor([-1.0, 2.0])), call(torch.tensor([-1.0, -2.0])))
class any_all_builtin(nn.Module):
    def forward(self, x):
        if any(v > 0 for v in x):
            x = x + 10
        if all([x[0] > 0, x[1] > 3]):
            x = x * 2
        return x


# -- numbers
@program(*SIGNS)
class differing_ints(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            k = 2
        else:
            k = 5
        return x * k


@program(*SIGNS)
class differing_floats(nn.Module):
    def forward(self, x):
        scale = 0.5 if x.sum() > 0 else 2.25
        return x * scale, scale


@program(*SIGNS)
class differing_bools(nn.Module):
    def forward(self, x):
        found = False
        if x.max() > 2:
            found = True
        if found:
            x = x + 100
        return x


@program(
    call(torch.arange(12.0).reshape(6, 2), torch.tensor(3)),
    call(torch.arange(12.0).reshape(6, 2), torch.tensor(1)),
    call(torch.arange(12.0).reshape(6, 2), torch.tensor(0)),
)
class item_size(nn.Module):
    def forward(self, x, n):
        k = n.item()
        if k > 2:
            y = x[1:3].sum()
        else:
            y = x[0:1].sum()
        return y


@program(
    call(torch.arange(12.0).reshape(6, 2), torch.tensor(3)),
    call(torch.arange(12.0).reshape(6, 2), torch.tensor(1)),
    call(torch.arange(12.0).reshape(6, 2), torch.tensor(5)),
)
class differing_shapes(nn.Module):
    def forward(self, x, n):
        if n > 2:
            y = x[:4]
        else:
            y = x[:2]
        return y * 2


@program(
    call(torch.tensor([1.0, -1.0, 2.0])), call(torch.tensor([-1.0, -1.0, -2.0])), call(torch.tensor([1.0, 1.0, 1.0]))
)
class nonzero_branch(nn.Module):
    def forward(self, x):
        idx = (x > 0).nonzero()
        if idx.shape[0] > 0:
            return x.sum() + idx.sum()
        return x.min()


@program(
    call(torch.tensor([1.0, -1.0, 2.0])), call(torch.tensor([-1.0, -1.0, -2.0])), call(torch.tensor([1.0, 1.0, 1.0]))
)
class if_numel(nn.Module):
    def forward(self, x):
        picked = x[x > 0]
        if picked.numel() == 0:
            return torch.zeros(())
        return picked.max()


@program(*SIGNS, refused="branch-unsupported")
class strides_that_depend_on_the_side(nn.Module):
    def forward(self, x):
        y = x.t() if x.sum() > 0 else x.t().contiguous()
        return y * 2 if y.is_contiguous() else y


@program(*SIGNS)
class layouts_that_differ_unasked(nn.Module):
    def forward(self, x):
        y = x.t() if x.sum() > 0 else x.t().contiguous()
        return y + 1, x.stride(), y.reshape(-1)


@program(*SIGNS)
class strides_that_agree(nn.Module):
    def forward(self, x):
        y = x + 1 if x.sum() > 0 else x * 2
        return y, y.stride(), y.is_contiguous()


@program(
    *((torch.tensor(value),) for value in (2.5, float("inf"), -float("inf"), float("nan"), 0.0)),
)
class nan_or_infinite(nn.Module):
    def forward(self, x):
        v = x.item()
        if math.isnan(v):
            return x * 0 + 1, math.isfinite(v)
        if math.isinf(v) and v > 0:
            return x * 0 + 2, math.isfinite(v)
        return x + v, math.isfinite(v)


@program(*((torch.tensor(value),) for value in (2.5, -3.0, float("nan"), 0.5)))
class clipped_numbers(nn.Module):
    def forward(self, x):
        v = x.item()
        clipped = max(-1.0, min(1.0, v)), min(1.0, max(-1.0, v)), min(max(v, -1.0), 1.0), max(0.0, v, 0.25)
        return (x * clipped[0] if v < 2 else x), [torch.ones(()) * number for number in clipped]
