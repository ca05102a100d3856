"""Aliases of constants, arguments of all kinds, tensors made of numbers"""

# ruff: noqa: E741

from __future__ import annotations

import functools
import operator
import types

import torch
from torch import nn

from tests.export.probe import Case, auto, equal, t

NAN = float('nan')


@equal
def constants_aliasing():
    C = torch.arange(4.0)
    V = C[1:]

    def f(x):
        return x + C, V * 2, C is C, V._base is C, C[1:] + V

    return f, (t(4),)


@equal
def output_views_of_constant():
    C = torch.arange(4.0)

    def f(x):
        return x, C[1:], C.view(2, 2), C

    return f, (t(4),)


@equal
def output_of_input_and_view_twice():
    def f(x, y):
        return x, x.view(-1), x[0], y, [y, {'k': x}], x.detach(), y.T

    return f, (t(3, 2), t(2, 2))


@equal
def argument_containers_mutated():
    def f(d, l):
        d['new'] = d['x'] * 2
        l.append(d['x'])
        l[0].add_(1)
        d.pop('y')
        return d, l

    return Case(f, ({'x': t(3), 'y': t(2)}, [t(3)]), returned=True)


@equal
def kwargs_and_defaults_mix():
    def f(x, /, *xs, k=2, y=None, **kw):
        return x * k + (y if y is not None else 0), len(xs), sum(xs, x), sorted(kw), kw.get('z', x)

    return Case(f, (t(3), t(3), t(3)), kwargs={'z': t(3), 'y': t(3)})


@equal
def callable_object_and_bound():
    class C:
        def __init__(self):
            self.w = torch.ones(3)

        def __call__(self, x):
            return x * self.w

        def m(self, x):
            return x + self.w

    c = C()
    p = functools.partial(C.m, c)

    def f(x):
        return (
            c(x),
            c.m(x),
            p(x),
            operator.methodcaller('m', x)(c),
            C.__call__(c, x),
            types.MethodType(lambda s, v: v * s.w, c)(x),
            functools.reduce(lambda a, h: h(a), [c, c.m], x),
            functools.partialmethod(C.m).func(c, x),
        )

    return f, (t(3),)


@equal
def try_star_and_notes_with_sizes():
    def f(x):
        try:
            raise ValueError(f'n={x.shape[0]}')
        except ValueError as e:
            e.add_note('note')
            m = str(e)
            return x, m, e.__notes__, e.args

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def tensor_of_nested_scalars():
    def f(x):
        n = x.shape[0]
        return (
            torch.tensor([[n, 1], [2, n + 1]]),
            torch.tensor([n / 2, 1.0]),
            torch.stack([torch.tensor(n), torch.tensor(2)]),
            torch.tensor(n > 4),
            torch.tensor([True, n > 4]),
            x.new_tensor([n, 2.0]),
            torch.full((2,), n),
            torch.full((2,), n / 2),
            torch.scalar_tensor(n),
            torch.as_tensor((n, 3)),
            torch.tensor(n, dtype=torch.uint8),
            torch.asarray([n]),
            torch.LongTensor([n, 2]),
            torch.FloatTensor([n, 2.0]),
        )

    return auto(f, t(4, 3), also=[t(7, 3)])


@equal
def tensors_of_elements():
    def f(x):
        return (
            torch.tensor([x[0], x[1]]),
            torch.tensor([[v, 1.0] for v in x]),
            torch.tensor(x[0].item()),
            torch.FloatTensor([x[0], 2.0]),
            torch.as_tensor([x.sum(), 1]),
        )

    return f, (t(3),)


@equal
def legacy_constructors():
    def f(x):
        return (
            torch.Tensor(2, 3).zero_(),
            torch.Tensor([1, 2]),
            torch.Tensor(x),
            torch.IntTensor([1]),
            x.new(2).zero_(),
            x.new([1.0, 2.0]),
            torch.BoolTensor([True]),
            torch.Tensor(x.shape[0]).fill_(1),
            torch.Tensor(),
            torch.HalfTensor(2).zero_(),
            torch.tensor(()),
        )

    return f, (t(3),)


@equal
def views_returned_from_nograd():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(torch.ones(3, 2))

        def forward(self, x):
            with torch.no_grad():
                v = self.p[0]
                w = self.p.t()
            u = self.p[1]
            return v, w, u, v.requires_grad, v.is_leaf, w.grad_fn is None, u.grad_fn is not None, self.p.detach()

    return M(), (t(3),)
