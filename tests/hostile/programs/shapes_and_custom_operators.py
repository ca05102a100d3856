"""Splits, chunks, ranges, interpolation, convolution, vmap, custom operators, checkpoints."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from tests.export.probe import Case, equal, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



def dyn(f, *args, also=(), **kw):
    return Case(
        f,
        args,
        dynamic_shapes=({0: Dim('n', min=2, max=64)},) + (None,) * (len(args) - 1),
        also=[((a, *args[1:]), {}) for a in also],
        **kw,
    )


@equal
def zero_dim_things():
    def f(x):
        s = x.sum()
        return (
            s,
            s[None],
            s[...],
            s.view(1),
            s.reshape(()),
            s.expand(3),
            s.T if False else s,
            s.tolist if False else 0,
            s.size(),
            len(s.shape),
            s.numel(),
            s.stride(),
            s.squeeze(),
            s.repeat(2),
            torch.stack([s, s]),
            s.item if False else 0,
            s.unsqueeze(0),
            s.flatten(),
            s[True],
            s[None, None],
        )

    return (f, (t(3),))


@equal
def empty_tensors():
    def f(x):
        e = x[:0]
        return (
            e.sum(),
            e.mean(),
            e.prod(),
            torch.cat([e, x]),
            e.reshape(0, 5),
            e.view(-1, 3) if False else 0,
            e.stride(),
            e.t().stride(),
            e.any(),
            e.all(),
            torch.stack([e, e]).stride(),
            e.repeat(2, 1),
            e @ x.t(),
            x.t() @ x[:, :0] if False else 0,
            e.cumsum(0),
            F.relu(e),
            e.sort(0)[0],
            e.unsqueeze(1).stride(),
            torch.zeros(0, 3).stride(),
            e.numel(),
            x.new_zeros(2, 0, 3).stride(),
            e.norm(),
            e.std(0),
        )

    return (f, (t(4, 3),))


@refused('constraint-violation')
def split_chunk_unbind_sizes():
    def f(x):
        return (
            x.split(3),
            x.chunk(4),
            x.tensor_split(3),
            x.split([1, x.shape[0] - 1]),
            len(x.chunk(3)),
            x.unfold(0, 2, 1).shape,
            torch.hsplit(x, 2),
            len(x.split(2)),
        )

    return dyn(f, t(8, 2), also=[t(6, 2), t(10, 2)])


@equal
def chunk_counts_dynamic():
    def f(x):
        c = x.chunk(4)
        return (len(c), c[-1])

    return dyn(f, t(8), also=[t(5), t(3), t(9), t(2)])


@refused('constraint-violation')
def arange_linspace_float_sizes():
    def f(x):
        n = x.shape[0]
        return (
            torch.arange(n),
            torch.arange(0, n, 2),
            torch.arange(0.0, n / 2, 0.5),
            torch.linspace(0, 1, n),
            torch.arange(n, 0, -1),
            torch.zeros(n // 2 + 1),
            torch.eye(n),
            torch.full((n,), n),
            torch.arange(n / 3),
            torch.tensor([n, n + 1]),
            torch.tensor(n) * 2,
            torch.as_tensor(n / 2),
            torch.tensor([[n, 1.5]]),
        )

    return dyn(f, t(8), also=[t(6), t(5), t(3)])


@equal
def size_to_scalar_ops():
    def f(x):
        n = x.shape[0]
        return (
            x * n,
            x + n / 2,
            x ** (n % 3),
            x // n,
            x.float() % n,
            torch.pow(2, x.long()),
            n - x,
            n / x,
            n // (x.abs() + 1),
            2 ** n * x,
            x.mean() * n,
            x.clamp(max=n),
            torch.full_like(x, n),
            x.new_tensor([n]),
            x.fill_(n) if False else 0,
            x.add(1, alpha=n),
            torch.addcmul(x, x, x, value=n),
            x.masked_fill(x > 0, n),
            x > n,
            x == n,
            x.roll(n // 2),
            F.pad(x, (n // 4, 0)),
        )

    return dyn(f, t(8), also=[t(6), t(5), t(3)])


@equal
def interpolate_sizes():
    def f(x):
        return (
            F.interpolate(x, scale_factor=1.5),
            F.interpolate(x, size=(x.shape[2] + 1, x.shape[3])),
            F.adaptive_avg_pool2d(x, 2),
            F.max_pool2d(x, 2, ceil_mode=True),
            F.unfold(x, 2),
        )

    return Case(
        f,
        (t(1, 2, 6, 5),),
        dynamic_shapes=({2: Dim('h', min=3, max=20)},),
        also=[((t(1, 2, 7, 5),), {}), ((t(1, 2, 9, 5),), {})],
    )


@equal
def conv_sizes():
    def f(x):
        return (
            F.conv1d(x, torch.ones(2, 2, 3), stride=2, padding=1, dilation=2),
            F.conv_transpose1d(x, torch.ones(2, 2, 3), stride=2, output_padding=1),
            F.avg_pool1d(x, 3, ceil_mode=True, count_include_pad=False),
        )

    return Case(
        f,
        (t(1, 2, 9),),
        dynamic_shapes=({2: Dim('h', min=6, max=20)},),
        also=[((t(1, 2, 7),), {}), ((t(1, 2, 12),), {})],
    )


@equal
def vmap_grad_jvp():
    def f(x):
        return (
            torch.vmap(lambda v: v.sum() * v)(x),
            torch.func.grad(lambda v: (v ** 2).sum())(x),
            torch.func.jvp(torch.sin, (x,), (x,))[1],
            torch.func.jacrev(torch.cos)(x[0]),
            torch.func.hessian(lambda v: (v ** 3).sum())(x[0]),
            torch.func.vjp(torch.sin, x)[1](x)[0],
        )

    return (f, (t(2, 3),))


@equal
def vmap_randomness():
    def f(x):
        return torch.vmap(lambda v: v + torch.rand(3), randomness='different')(x) * 0

    return (f, (t(2, 3),))


@equal
def make_dual_top():
    import torch.autograd.forward_ad as fwAD
    def f(x, tt):
        with fwAD.dual_level():
            d = fwAD.make_dual(x, tt)
            return fwAD.unpack_dual(d.sin() * d).tangent

    return (f, (t(3), t(3)))


@equal
def make_dual_nested_module():
    import torch.autograd.forward_ad as fwAD
    class M(Base):
        def forward(self, x):
            with fwAD.dual_level():
                d = fwAD.make_dual(x, torch.ones_like(x))
                p, tt = fwAD.unpack_dual(self.l(d))
            return (p, tt)


    return (M(l=nn.Linear(3, 3)), (t(2, 3),))


@equal
def autograd_grad_in_forward():
    def f(x):
        y = x.detach().requires_grad_()
        with torch.enable_grad():
            g, = torch.autograd.grad((y ** 2).sum(), y)
        return g

    return (f, (t(3),))


@equal
def autograd_grad_create_graph():
    def f(x):
        g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
        return g * 2

    return Case(f, (t(3, requires_grad=True),), gradients=True)


@equal
def custom_function():
    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.k = 3
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2


    def f(x):
        return Fn.apply(x)

    return Case(f, (t(3, requires_grad=True),), gradients=True)


@equal
def custom_function_setup_context():
    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.mark_non_differentiable()

        @staticmethod
        def backward(ctx, g):
            return g * 2


    def f(x):
        return Fn.apply(x)

    return Case(f, (t(3, requires_grad=True),), gradients=True)


@equal
def custom_function_mark_dirty():
    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.add_(1)
            return x

        @staticmethod
        def backward(ctx, g):
            return g


    def f(x):
        y = x.clone()
        z = Fn.apply(y)
        return (z, y, z is y)

    return (f, (t(3),))


@refused('python-state')
def custom_function_state():
    class Fn(torch.autograd.Function):
        n = 0
        @staticmethod
        def forward(ctx, x):
            Fn.n += 1
            return x * Fn.n

        @staticmethod
        def backward(ctx, g):
            return g


    def f(x):
        return Fn.apply(x)

    return (f, (t(3),))


@equal
def checkpoint():
    def f(x):
        return torch.utils.checkpoint.checkpoint(lambda v: v.sin() * 2, x, use_reentrant=False)

    return Case(f, (t(3, requires_grad=True),), gradients=True)


@refused('gradient-hook')
def saved_tensors_hooks():
    def f(x):
        with torch.autograd.graph.saved_tensors_hooks(lambda v: v * 2, lambda v: v / 2):
            y = x * x
        return y

    return Case(f, (t(3, requires_grad=True),), gradients=True)


@refused('tensor-attribute')
def requires_grad_toggle_input():
    def f(x):
        x.requires_grad_(True)
        return x * 2

    return (f, (t(3),))

