"""Transforms, control-flow operators, sizes of data, buffers that change places"""

# ruff: noqa: E731, F841

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

from tests.export.probe import Case, equal, ints, promised, refused, t


@equal
def vmap_with_sizes_and_closure():
    def f(x, w):
        n = x.shape[0]
        return torch.vmap(lambda r, v: (r * v).sum() * n + r.shape[0], in_dims=(0, None))(x, w), torch.vmap(
            torch.dot, in_dims=(1, None)
        )(x.t()[: w.shape[0]], w)

    return promised(f, t(4, 3), t(3), also=[t(5, 3)])


@equal
def vmap_nested_out_dims():
    def f(x, y):
        return torch.vmap(torch.vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None), out_dims=1)(
            x, y
        ), torch.vmap(lambda a: (a, {'s': a.sum()}))(x)

    return f, (t(4), t(5))


@equal
def vmap_where_inplace_and_dropout():
    def f(x):
        def h(r):
            z = torch.zeros_like(r)
            z[0] = r.sum()
            z += r
            return torch.where(z > 0, z, r)

        return torch.vmap(h)(x), torch.func.vmap(h, chunk_size=2)(x)

    return f, (t(4, 3),)


@equal
def func_grad_aux_argnums():
    def f(x, y):
        def h(a, b):
            z = a * b
            return z.sum(), (z, b + 1)

        (ga, gb), (z, w) = torch.func.grad(h, argnums=(0, 1), has_aux=True)(x, y)
        v, vjp = torch.func.vjp(lambda a: a.sin() * y, x)
        return ga, gb, z, w, v, vjp(torch.ones_like(v))

    return f, (t(3), t(3))


@refused('higher-order-operator')
def func_jacobians():
    def f(x):
        h = lambda a: (a**2).cumsum(0)
        return (
            torch.func.jacrev(h)(x),
            torch.func.jacfwd(h)(x),
            torch.func.hessian(lambda a: h(a).sum())(x),
            torch.func.jvp(h, (x,), (torch.ones_like(x),)),
            torch.func.linearize(h, x)[0],
        )

    return f, (t(3),)


@equal
def functional_call_partial_and_tied():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)
            self.k = self.l
            self.bn = nn.BatchNorm1d(3)

        def forward(self, x):
            p = {'l.weight': self.l.weight * 2, 'bn.running_mean': torch.zeros(3)}

            def inner():
                pass

            o = torch.func.functional_call(self.bn, {'running_mean': torch.zeros(3), 'weight': x[0]}, (x,))
            w = torch.func.functional_call(self.l, {'weight': self.l.weight * 2}, x)
            return o, w, self.bn(x), self.l(x)

    return M(), (t(4, 3),)


@equal
def cond_with_closures_and_kwargs():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)
            self.register_buffer('b', torch.ones(3))

        def forward(self, x):
            k = x.shape[0]

            def a(v):
                return self.l(v) * k

            def b(v):
                return v + self.b.sum()

            return torch.cond(x.sum() > 0, a, b, (x,)), torch.cond(k > 3, a, b, (x,))

    return promised(M(), t(4, 3), also=[t(5, 3)])


@equal
def while_loop_counter():
    def f(x):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda i, v: (i < 3) & (v.sum() < 100), lambda i, v: (i + 1, v * 2), (torch.tensor(0), x))

    return f, (t(3),)


@equal
def nonzero_forms():
    def f(x):
        i, j = torch.nonzero(x, as_tuple=True)
        n = torch.nonzero(x)
        return x[i, j], n.shape[0], x[x != 0].shape, torch.argwhere(x), i.shape[0] == n.shape[0], torch.where(x)[0]

    return f, (ints(3, 4, high=2),)


@equal
def unique_forms():
    def f(x):
        u, inv, c = torch.unique(x, return_inverse=True, return_counts=True)
        v = torch.unique_consecutive(x)
        return u, inv, c, v, u.shape[0] * 2, u[inv], x.bincount(minlength=12), torch.unique(x, sorted=False).numel()

    return f, (ints(8),)


@equal
def masked_select_then_view():
    def f(x):
        y = x[x > 0]
        torch._check(y.shape[0] > 0)
        return (
            y.max(),
            y.view(-1, 1).expand(-1, 2),
            torch.cat([y, x]),
            y[:1],
            y.shape[0] + x.shape[0],
            torch.zeros(y.shape[0], 2),
        )

    return f, (torch.tensor([1.0, -2.0, 3.0, 4.0]),)


@equal
def repeat_interleave_tensor():
    def f(x, r):
        a = x.repeat_interleave(r, 0)
        return a, a.shape[0], x.repeat_interleave(2, 1), torch.repeat_interleave(r)

    return f, (t(3, 2), torch.tensor([1, 0, 2]))


@equal
def item_checks_slices():
    def f(x, n):
        k = n.item()
        torch._check(k >= 0)
        torch._check(k <= x.shape[0])
        a = x[:k]
        b = x.narrow(0, 0, k)
        c = torch.zeros(k + 1)
        d = x[k:]
        return a, b, c.shape[0], d.sum(), k * 2, a.shape[0] == k, torch.arange(k)

    return Case(
        f, (t(5, 3), torch.tensor(2)), also=[((t(5, 3), torch.tensor(0)), {}), ((t(5, 3), torch.tensor(5)), {})]
    )


@equal
def tolist_of_input_splits():
    def f(x, s):
        a, b = s.tolist()
        torch._check(a >= 0)
        torch._check(b >= 0)
        torch._check(a + b == x.shape[0])
        p, q = x.split([a, b])
        return p.sum(), q.sum(), p.shape[0]

    return Case(f, (t(5, 3), torch.tensor([2, 3])), also=[((t(5, 3), torch.tensor([0, 5])), {})])


@equal
def float_item_arith():
    def f(x, s):
        v = s.item()
        return x * v, x + v**2, v, v * 2 + 1, x.clamp(max=v), torch.full((2,), v), x.add(x, alpha=v)

    return Case(f, (t(3), torch.tensor(2.5)), also=[((t(3), torch.tensor(-1.0)), {})])


@equal
def bool_item_select():
    def f(x, b):
        return torch.where(b, x, -x), x * b, x + b.item(), x * int(b)

    return Case(f, (t(3), torch.tensor(True)), also=[((t(3), torch.tensor(False)), {})])


@equal
def sparse_ops_refused():
    def f(x):
        s = x.to_sparse()
        return s.to_dense() * 2, s.coalesce().values(), torch.sparse.mm(s, x.t())

    return f, (t(3, 4).relu(),)


@equal
def pickled_model_state():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 3)
            self.reset_hooks = 0

        def __getstate__(self):
            d = self.__dict__.copy()
            d['extra'] = 1
            return d

        def __setstate__(self, d):
            self.__dict__.update(d)
            self.restored = True

        def forward(self, x):
            c = copy.copy(self)
            return self.l(x) * (2 if getattr(c, 'restored', False) else 1), hasattr(self, 'restored')

    return M(), (t(2, 3),)


@equal
def module_getattr_dynamic_children():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            for i in range(3):
                setattr(self, f'l{i}', nn.Linear(3, 3))

        def __getattr__(self, n):
            if n.startswith('layer_'):
                return super().__getattr__('l' + n[6:])
            return super().__getattr__(n)

        def forward(self, x):
            for i in range(3):
                x = getattr(self, f'layer_{i}')(x) + getattr(self, 'missing', 1)
            return x

    return M(), (t(2, 3),)


@equal
def register_buffer_in_forward_cond():
    class M(nn.Module):
        def forward(self, x):
            if not hasattr(self, 'b'):
                self.register_buffer('b', torch.ones(3), persistent=False)
            return x + self.b

    return M(), (t(3),)


@equal
def buffers_swapped_by_name():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('a', torch.zeros(3))
            self.register_buffer('b', torch.ones(3))

        def forward(self, x):
            self.a, self.b = self.b, self.a
            self.a += x
            return self.a - self.b

    return M(), (t(3),)


@equal
def buffer_rotating_list():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('h', torch.zeros(4, 3))

        def forward(self, x):
            self.h[:-1] = self.h[1:].clone()
            self.h[-1] = x
            self.h = torch.roll(self.h, 1, 0)
            return self.h.mean(0)

    return M(), (t(3),)


@equal
def flip_and_negative_steps():
    def f(x):
        y = x.flip(0)
        y[0] = 0
        z = x.rot90(1, (0, 1))
        w = x.T.mT.swapaxes(0, 1).movedim(0, 1)
        w[0] = 5
        return x, y, z, w, torch.fliplr(x), torch.rot90(x, -1)

    return f, (t(3, 3),)


@equal
def named_tuple_out_types():
    def f(x):
        m = x.max(0)
        s = torch.linalg.svd(x)
        q = torch.topk(x, 2)
        e = torch.linalg.slogdet(x)
        return (
            m,
            m.indices,
            m._fields if hasattr(m, '_fields') else m.n_fields,
            type(s).__name__,
            q.values,
            e.logabsdet,
            x.kthvalue(1),
            x.aminmax(),
            len(x.median(0)),
            torch.frexp(x),
        )

    return f, (t(3, 3),)


@equal
def scalar_tensor_index_types():
    def f(x):
        i = torch.tensor(1)
        return (
            x[i],
            x[i.to(torch.int32)],
            x[torch.tensor(True)],
            x[torch.tensor([], dtype=torch.long)],
            x[i:],
            x[..., i],
            x[None, i],
            x[[True, False, True]],
            x[np.int64(1)],
            x[np.array([0, 2])],
            x[(i,)],
        )

    return f, (t(3, 3),)
