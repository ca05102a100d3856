"""Branches that change tensors, buffers and inputs in place; aliases."""

from __future__ import annotations

import torch
from torch import nn

from tests.control_flow.programs.table import SIGNS, program


# -- in-place and buffers
@program(*SIGNS)
class inplace_local(nn.Module):
    def forward(self, x):
        y = x.clone()
        if x.sum() > 0:
            y.add_(1)
            y.mul_(3)
        return y


@program(*SIGNS)
class inplace_view_in_side(nn.Module):
    def forward(self, x):
        y = x.clone()
        if x.sum() > 0:
            y[0] = 7.0
        else:
            y[1:].zero_()
        return y


@program(*SIGNS)
class inplace_view_outside(nn.Module):
    def forward(self, x):
        y = x.clone()
        row = y[0]
        if x.sum() > 0:
            row.add_(5)
        else:
            row.mul_(2)
        return y


@program(*SIGNS)
class inplace_input(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x.add_(1)
        return x * 2


@program(*SIGNS)
class buffer_inplace(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(2))

    def forward(self, x):
        if x.sum() > 0:
            self.n.add_(x.sum(0))
        else:
            self.n.mul_(0.5)
        return x + self.n


@program(*SIGNS)
class buffer_assigned(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.ones(2))

    def forward(self, x):
        if x.sum() > 0:
            self.n = self.n + x.sum(0)
        return x + self.n


@program(*SIGNS)
class buffer_count_nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros((), dtype=torch.int64))
        self.register_buffer("m", torch.zeros(2))

    def forward(self, x):
        if x.sum() > 0:
            self.n += 1
            if x.max() > 2:
                self.m.copy_(x[0])
                self.n += 10
        else:
            self.m = self.m - 1
        return x * self.n + self.m


@program(*SIGNS)
class lazily_initialised_flag(nn.Module):
    """The ActNorm / data-dependent init pattern: a buffer is the flag."""

    def __init__(self):
        super().__init__()
        self.register_buffer("ready", torch.tensor(False))
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x):
        if not self.ready:
            self.mean.copy_(x.mean(0))
            self.ready.fill_(True)
        return x - self.mean


# -- aliasing
@program(*SIGNS)
class alias_of_input(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x
        else:
            y = x + 1
        return y * 2


@program(*SIGNS)
class alias_then_inplace(nn.Module):
    def forward(self, x):
        a = x.clone()
        if x.sum() > 0:
            y = a
        else:
            y = a + 1
        y.add_(1)
        return a


@program(*SIGNS)
class view_returned(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x.t()
        else:
            y = (x + 1).t()
        return y.contiguous()


@program(*SIGNS)
class strides_differ(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        z = x @ x.t()
        if x.sum() > 0:
            y = z.t()
        else:
            y = z + 1
        return y * 2
