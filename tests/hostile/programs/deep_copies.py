"""Deep copies of tensors that share memory: the copies share theirs, and keep strides and offsets."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.export import Dim

from tests.export.probe import Case, equal, refused, t


def dyn(f, *args, also):
    shapes = ({0: Dim('n', min=2, max=64)},) + (None,) * (len(args) - 1)
    return Case(f, args, dynamic_shapes=shapes, also=[((a, *args[1:]), {}) for a in also])


@equal
def copies_share():
    def f(x):
        a = x * 1
        d = {'a': a, 'v': a[1:], 'l': [a, a]}
        a2 = copy.deepcopy(d)
        a2['a'].add_(1)
        return a2['v'], a2['l'][0] is a2['a'], d['v'], a
    return f, (t(3),)


@equal
def view_first():
    def f(x):
        a = x * 1
        v, w = copy.deepcopy((a[1:], a))
        v.add_(1)
        return v, w, a, v._base is None, v.storage_offset()
    return f, (t(3),)


@equal
def dynamic_sizes():
    def f(x):
        a = x * 1
        v, w, z = copy.deepcopy((a[1:], a, a.t()))
        v.add_(1)
        z[0] = 3
        return v, w, a, z
    return dyn(f, t(4, 3), also=[t(6, 3)])


@equal
def of_input_with_dynamic_size():
    def f(x):
        v, w = copy.deepcopy((x, x[1:]))
        v.add_(1)
        return v, w
    return dyn(f, t(4, 3), also=[t(6, 3)])


@equal
def strides_kept():
    def f(x):
        a = x * 1
        b = copy.deepcopy(a.expand(4, 3))
        c = copy.deepcopy(a.expand(4, 3)[:, ::2])
        return b.stride(), c.stride(), c, copy.deepcopy(a.view(1,3).t()).stride()
    return f, (t(3),)


@equal
def detached_slice():
    def f(x):
        a = x * 1
        v = a[1:].detach()
        w, u = copy.deepcopy((a, v))
        u.add_(1)
        return w, u, a
    return f, (t(3),)


@refused("no-meta-kernel")
def detached_slice_first():
    def f(x):
        a = x * 1
        v = a[1:].detach()
        u, w = copy.deepcopy((v, a))
        u.add_(1)
        return w, u, a
    return f, (t(3),)


@equal
def conjugate():
    def f(x):
        y = copy.deepcopy(x.conj())
        return y, y.is_conj(), copy.deepcopy(x.conj().imag)
    return f, (torch.randn(3, dtype=torch.complex64),)


@refused("no-meta-kernel")
def real_part_first():
    def f(x):
        a = x * 1
        r, c = copy.deepcopy((a.real, a))
        r.add_(1)
        return r, c
    return f, (torch.randn(3, dtype=torch.complex64),)


@refused("no-meta-kernel")
def real_part_second():
    def f(x):
        a = x * 1
        c, r = copy.deepcopy((a, a.real))
        r.add_(1)
        return r, c
    return f, (torch.randn(3, dtype=torch.complex64),)


@equal
def buffer_and_view_of_it():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.arange(6.).view(2, 3))
            self.register_buffer("v", self.b[1])
            self.p = nn.Parameter(torch.ones(3))
        def forward(self, x):
            c = copy.deepcopy(self)
            c.v.add_(x)
            c.b[0] = c.p.sum().detach()
            return c.b * 1, c.v * c.p.detach(), self.b * 1
    return M(), (t(3),)


@equal
def leaf_and_detached_slice():
    def f(x):
        a = x.detach().clone().requires_grad_()
        b, c = copy.deepcopy((a, a.detach()[1:]))
        return b.detach(), b.requires_grad, c.requires_grad, c
    return f, (t(3),)


@equal
def input_that_is_a_slice():
    def f(x):
        v, w = copy.deepcopy((x[0], x))
        v.add_(1)
        return v, w, w.stride()
    return f, (t(4, 6)[1:3, ::2],)


@equal
def without_elements():
    def f(x):
        v, w = copy.deepcopy((x[:0], x))
        return v, w, v.stride()
    return f, (t(4, 6),)


@equal
def two_memos():
    def f(x):
        m = {}
        a = x * 2
        b = copy.deepcopy(a, m)
        c = copy.deepcopy(a[1:], m)
        c.zero_()
        d = copy.deepcopy(a[1:])
        d.zero_()
        return b, c, d, a
    return f, (t(4),)
