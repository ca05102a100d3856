"""Gradients through views, and modules that change while they run"""

# ruff: noqa: B007, C416, F841

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.export.probe import Case, equal, ints, refused, t


class M(nn.Module):
    def __init__(self, h, grad=True):
        super().__init__()
        self.p = nn.Parameter(torch.arange(1.0, 4.0))
        self.register_buffer('b', torch.ones(3))
        self.l = nn.Linear(3, 3)
        self.h = h

    def forward(self, *a):
        return self.h(self, *a)


@equal
def copy_copy_then_writes():
    def h(m, x):
        y = x.clone()
        a, b = copy.copy([y, y[1:]])
        c = copy.copy(y[::2])
        c.mul_(3)
        b += 1
        return y, a, c, c.stride()

    return M(h), (t(4),)


@equal
def tensor_new_and_like_strides():
    def h(m, x):
        y = x.t()
        return [
            z.stride()
            for z in (
                torch.rand_like(y),
                torch.full_like(y, 1),
                y.new_empty(3, 2),
                y.new_zeros(2, 3),
                y * 1,
                y.sort(0)[0],
                y.cumsum(0),
                y.flip(0),
                y.roll(1),
                y.float(),
                y.double(),
                y.to(torch.half),
                y.where(y > 0, y),
                y.masked_fill(y > 0, 1),
                y.clamp(0),
                y.softmax(0),
                y.matmul(x),
                torch.cat([y, y]),
                torch.stack([y, y]),
                y.repeat(2, 1),
                y.tril(),
                y.gather(0, ints(2, 2, high=2)),
                y[[0, 1]],
                y[:, [0, 1]],
                y[y.sum(1) > -99],
                y.index_select(1, torch.tensor([0])),
                F.layer_norm(y, (2,)),
                F.pad(y, (1, 1)),
                y.norm(dim=0, keepdim=True),
                y.sum(0, keepdim=True),
                torch.where(y > 0, y, x.t()),
                torch.maximum(y, x.t().contiguous()),
                y.copysign(x.t()),
                y.lerp(x.t(), 0.5),
                torch.addmm(x.t()[:, :1].expand(3, 3), y, x),
                torch.bmm(y[None], x[None]),
                y.unfold(0, 2, 1),
                torch.diag_embed(y),
                torch.linalg.inv(y @ x + torch.eye(3)),
                torch.cdist(y, y),
                torch.fft.fft(y),
                y.mT @ y,
            )
        ]

    return M(h), (t(2, 3),)


@equal
def channels_last_flow():
    def h(m, x):
        y = x.contiguous(memory_format=torch.channels_last)
        c = F.conv2d(y, torch.ones(2, 3, 1, 1))
        return [
            z.stride()
            for z in (
                c,
                F.relu(y),
                F.max_pool2d(y, 2),
                F.avg_pool2d(y, 2),
                F.interpolate(y, scale_factor=2),
                F.batch_norm(y, torch.zeros(3), torch.ones(3)),
                y + 1,
                y.clone(),
                y.flatten(1),
                torch.cat([y, y], 1),
                F.pad(y, (1, 1)),
                y.permute(0, 2, 3, 1),
                F.adaptive_avg_pool2d(y, 1),
                F.dropout(y, 0.5),
                y.mean((2, 3)),
                F.pixel_shuffle(torch.cat([y] * 4, 1), 2),
                F.group_norm(y, 3),
                F.upsample(y, scale_factor=2, mode='bilinear'),
                F.unfold(y, 2),
                y.sigmoid().double(),
            )
        ]

    return M(h), (t(2, 3, 4, 4),)


@equal
def autograd_grad_of_params():
    def h(m, x):
        y = (m.p * x).sum() ** 2
        (g,) = torch.autograd.grad(y, m.p, create_graph=True)
        return g, (g * x).sum()

    return Case(M(h), (t(3),), gradients=True)


@equal
def functional_jvp_old_api():
    def h(m, x):
        return torch.autograd.functional.jvp(lambda a: a**2, x, torch.ones(3)), torch.autograd.functional.jacobian(
            lambda a: a**2, x
        )

    return M(h), (t(3),)


@refused('gradient-hook')
def hook_on_intermediate():
    def h(m, x):
        y = m.p * x
        y.register_hook(lambda g: g * 2)
        return y.sum()

    return Case(M(h), (t(3),), gradients=True)


@equal
def detached_view_writes_grad():
    def h(m, x):
        w = m.p * 2
        d = w.detach()
        d[0] = 100
        return w * x, d

    return Case(M(h), (t(3),), gradients=True)


@equal
def grad_modes_around_views():
    def h(m, x):
        w = m.p * 2
        with torch.no_grad():
            v = w[1:]
        u = w[1:]
        try:
            v.add_(1)
        except RuntimeError as e:
            return w, u
        return w, u, v

    return Case(M(h), (t(3),), gradients=True)


@equal
def split_views_inplace_error():
    def h(m, x):
        w = m.p * 2
        a, b = w.split([1, 2])
        try:
            a.add_(1)
        except RuntimeError as e:
            return w * 3, 'err'
        return w, a, b

    return Case(M(h), (t(3),), gradients=True)


@equal
def expanded_grad_sum():
    def h(m, x):
        return (
            m.p.expand(2, 3) * x,
            m.p[[0, 0, 1]],
            m.p.repeat(2),
            m.p.index_select(0, torch.tensor([2, 2])),
            torch.stack([m.p, m.p]).prod(0),
        )

    return Case(M(h), (t(3),), gradients=True)


@equal
def max_ties_gradients():
    def h(m, x):
        z = torch.cat([m.p, m.p])
        return (
            z.max(),
            z.amax(),
            z.max(0)[0],
            z.median(),
            F.max_pool1d(z[None], 2),
            z.clamp(2, 2.5),
            z.sort(stable=True)[0],
            torch.maximum(m.p, m.p * 1),
            z.norm(),
            (z - z).norm(),
            z.abs().std(),
        )

    return Case(M(h), (t(3),), gradients=True)


@equal
def where_nan_gradients():
    def h(m, x):
        return (
            torch.where(m.p > 2, (m.p - 2).sqrt(), torch.zeros(())),
            (m.p - 1).abs(),
            torch.nan_to_num(m.p / (m.p - 1)),
            m.p**0,
        )

    return Case(M(h), (t(3),), gradients=True)


@equal
def detach_inplace_grad():
    def h(m, x):
        y = m.p * x
        z = y * 2
        y.detach_()
        return y, z, y.requires_grad

    return Case(M(h), (t(3),), gradients=True)


@equal
def requires_grad_set_on_input_clone():
    def h(m, x):
        y = x.clone()
        y.requires_grad_(True)
        (g,) = torch.autograd.grad((y**2).sum(), y)
        return g

    return M(h), (t(3),)


@equal
def set_to_none_then_use_buffer():
    def h(m, x):
        keep = m.b
        m.b = None
        try:
            y = x + (m.b if m.b is not None else keep)
        finally:
            m.b = keep
        return y

    return M(h), (t(3),)


@equal
def buffer_becomes_view_of_itself():
    def h(m, x):
        m.b = m.b.flip(0)[:].view(3)
        m.b[0] += x[0]
        return m.b

    return M(h), (t(3),)


@refused('tensor-data-assigned')
def module_moved_in_forward():
    def h(m, x):
        m.l.double()
        y = m.l(x.double())
        m.l.float()
        return y

    return M(h), (t(3),)


@refused('tensor-data-assigned')
def module_half_copy():
    def h(m, x):
        c = copy.deepcopy(m.l).double()
        return c(x.double()), m.l(x)

    return M(h), (t(3),)


@equal
def state_dict_load_copy():
    def h(m, x):
        sd = {k: v.clone() for k, v in m.l.state_dict().items()}
        with torch.no_grad():
            m.l.weight.zero_()
        y = m.l(x)
        m.l.load_state_dict(sd)
        return y, m.l(x)

    return M(h), (t(3),)


@equal
def apply_and_named_walk():
    def h(m, x):
        n = 0
        seen = []
        m.apply(lambda s: seen.append(type(s).__name__))
        for k, p in m.named_parameters():
            x = x + p.sum() * len(k)
        return (
            x,
            seen,
            [k for k, _ in m.named_buffers()],
            sum(p.numel() for p in m.parameters()),
            next(m.parameters()).dtype,
        )

    return M(h), (t(3),)


@equal
def sequential_slices_and_insert():
    class S(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))
            self.d = nn.ModuleDict({'a': nn.Linear(3, 3), 'b': nn.Identity()})
            self.pl = nn.ParameterList([torch.ones(3), torch.ones(3) * 2])
            self.pd = nn.ParameterDict({'u': torch.ones(3)})

        def forward(self, x):
            y = self.s[1:](x) + self.s[-1](x) + (self.s[:1] + self.s[2:])(x)
            for k, v in self.d.items():
                y = v(y)
            return (
                y * sum(self.pl) + self.pd['u'] * len(self.s),
                'a' in self.d,
                [k for k in self.pd],
                self.pl[-1] is self.pl[1],
                hasattr(self.d, 'get'),
            )

    return S(), (t(2, 3),)


@equal
def forward_replaced_on_instance():
    def h(m, x):
        return m.l(x)

    m = M(h)
    old = m.l.forward
    m.l.forward = lambda x: old(x) * 2
    return m, (t(3),)
