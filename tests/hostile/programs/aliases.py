"""Aliases, and the modes of autograd and autocast"""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.export.probe import equal, ints, refused, t, with_gradients


@equal
def copy_copy_tensor():
    def f(x):
        a = x * 1
        b = copy.copy(a)
        b.add_(1)
        return a, b

    return f, (t(3),)


@equal
def tensor_set_source():
    def f(x):
        a = x * 1
        b = torch.empty(0)
        b.set_(a)
        b.add_(1)
        c = torch.empty(0).set_(a.view(-1))
        return a, b, c

    return f, (t(3),)


@equal
def data_swap_views():
    def f(x):
        a = x * 1
        v = a[1:]
        a.data = torch.ones(3)
        v.add_(5)
        return a, v

    return f, (t(3),)


@equal
def unsafe_views_split():
    def f(x):
        y = x.clone()
        a, b = torch.unsafe_split(y, 2)
        y.add_(1)
        c = torch._unsafe_view(y, (4,)) if hasattr(torch, '_unsafe_view') else y
        return a, b, c, y

    return f, (t(4),)


@equal
def reshape_alias_or_copy():
    def f(x):
        y = x.clone()
        r = y.reshape(2, 6)
        u = y.t().reshape(-1)
        y.zero_()
        return r, u

    return f, (t(3, 4),)


@equal
def contiguous_then_write():
    def f(x):
        a = x.contiguous()
        a.add_(1)
        b = x.t().contiguous()
        b.add_(1)
        return a, b, x

    return f, (t(3, 4),)


@equal
def to_same_dtype_then_write():
    def f(x, i):
        a = x.to(torch.float32)
        a.add_(1)
        b = i.float()
        b.add_(1)
        c = x.type_as(x)
        c.mul_(2)
        d = x.cpu()
        d.sub_(1)
        e = torch.as_tensor(x)
        e[0] = 9
        h = torch.asarray(x)
        h[1] = 8
        return x, a, b, c, d, e, h

    return f, (t(3), ints(3))


@equal
def expand_as_write_after_contig():
    def f(x):
        b = x.expand(2, 3).contiguous()
        b[0] += 1
        w = torch.broadcast_to(x, (2, 3))
        x.add_(1)
        return b, w, x

    return f, (t(3),)


@equal
def inplace_on_leaf_requires_grad_error():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(torch.ones(3))

        def forward(self, x):
            try:
                self.p.add_(x)
            except RuntimeError as e:
                return x, str(e)[:30]
            return x, ''

    return M(), (t(3),)


@equal
def inplace_on_view_of_leaf_error():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(torch.ones(3))

        def forward(self, x):
            try:
                self.p[1:].add_(x[1:])
            except RuntimeError as e:
                return x * self.p, 'leaf' in str(e)
            return x, ''

    return M(), (t(3),)


@equal
def no_grad_param_update_then_use():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(torch.ones(3))

        def forward(self, x):
            y = x * self.p
            with torch.no_grad():
                self.p.mul_(0.5)
            return y + self.p.detach()

    return M(), (t(3),)


@equal
def grad_through_detach_data_mix():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(torch.ones(3))

        def forward(self, x):
            a = self.p * x
            b = a.detach().requires_grad_(False) * self.p
            with torch.no_grad():
                c = a * 2
                with torch.enable_grad():
                    d = a * 3
            return a, b, c, d, c.requires_grad, d.requires_grad

    return with_gradients(M(), t(3))


@equal
def clone_of_view_grad():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(torch.ones(4, 3))

        def forward(self, x):
            w = self.p.clone()
            w[0] = x
            w[1:3].mul_(2)
            v = w.t()
            v[0, 3] = 7
            return (w * x).sum(), w

    return with_gradients(M(), t(3))


@equal
def custom_function_non_diff():
    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.k = k
            m = x > 0
            ctx.mark_non_differentiable(m)
            return x * k, m

        @staticmethod
        def backward(ctx, a, b):
            return a * ctx.k, None

    def f(x):
        y, m = Fn.apply(x, 3)
        return y, m, y.requires_grad, m.requires_grad

    return f, (t(3),)


@equal
def nested_autocast_dtype():
    def f(x):
        with torch.autocast('cpu', dtype=torch.bfloat16):
            a = x @ x
            with torch.autocast('cpu', enabled=False):
                b = x @ x
            with torch.autocast('cpu', dtype=torch.float16):
                c = x @ x
            d = a + b
            e = torch.cat([a, b.to(a.dtype)])
            s = F.softmax(a, 0)
        return a, b, c, d, e, s, torch.get_autocast_dtype('cpu'), torch.is_autocast_enabled('cpu')

    return f, (t(3, 3),)


@equal
def custom_fwd_bwd_autocast():
    class Fn(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type='cpu', cast_inputs=torch.float32)
        def forward(ctx, x):
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type='cpu')
        def backward(ctx, a):
            return a

    def f(x):
        with torch.autocast('cpu', dtype=torch.bfloat16):
            return Fn.apply(x @ x), x @ x

    return f, (t(3, 3),)


@refused('autocast-cache')
def autocast_cache_weight_change():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)

        def forward(self, x):
            with torch.autocast('cpu', dtype=torch.bfloat16):
                a = self.l(x)
                with torch.no_grad():
                    self.l.weight.mul_(2)
                b = self.l(x)
            return a, b

    return M(), (t(3, 3),)


@equal
def inference_nested_grad():
    def f(x):
        with torch.inference_mode():
            a = x * 2
            with torch.inference_mode(False):
                b = x * 3
            v = x[0]
        return b, a.is_inference(), b.is_inference(), v.is_inference(), a.clone()

    return f, (t(3),)
