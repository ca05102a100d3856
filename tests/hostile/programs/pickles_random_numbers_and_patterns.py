"""`__getattribute__`, copies, pickles, random numbers, f-strings, slices, match, exceptions."""

# ruff: noqa: B012, B904, E741, F841, RUF005, RUF059, SIM107, UP031, UP032

from __future__ import annotations

import copy
import pickle
import random
from dataclasses import dataclass
from typing import Any

import torch
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
def getattribute_override():
    class M(Base):
        def __getattribute__(self, n):
            if n == 'q':
                return 5
            return super().__getattribute__(n)

        def forward(self, x):
            return x * self.q * self.w


    return (M(w=nn.Parameter(t(3))), (t(3),))


@equal
def setattr_override():
    class A:
        def __setattr__(s, n, v):
            object.__setattr__(s, n, v * 2)


    def f(x):
        a = A()
        a.n = 3
        a.x = x
        return a.x * a.n

    return (f, (t(3),))


@equal
def deepcopy_in_forward():
    class M(Base):
        def forward(self, x):
            l = copy.deepcopy(self.l)
            with torch.no_grad():
                l.weight.mul_(2)
            return l(x) + self.l(x)


    return (M(l=nn.Linear(3, 3)), (t(2, 3),))


@equal
def deepcopy_tensor_dict():
    def f(x):
        d = {'a': x, 'b': [x]}
        e = copy.deepcopy(d)
        e['a'].add_(1)
        return (x, e['a'], e['a'] is e['b'][0])

    return (f, (t(3),))


@equal
def pickle_in_forward():
    def f(x):
        return x * pickle.loads(pickle.dumps({'a': [1, 2]}))['a'][1]

    return (f, (t(3),))


@refused('data-dependent-value')
def pickle_tensor():
    def f(x):
        return pickle.loads(pickle.dumps(x)) * 2

    return (f, (t(3),))


@equal
def random_seeded_local():
    def f(x):
        r = random.Random(3)
        return x * r.randint(0, 9)

    return (f, (t(3),))


@refused('unrecordable-value')
def random_state_outside():
    r = random.Random(3)
    def f(x):
        return x * r.randint(0, 9)

    return (f, (t(3),))


@refused('global-rng')
def random_getstate_setstate():
    def f(x):
        s = random.getstate()
        random.seed(1)
        n = random.randint(0, 9)
        random.setstate(s)
        return x * n

    return (f, (t(3),))


@equal
def numpy_rng():
    import numpy as np
    def f(x):
        r = np.random.default_rng(0)
        return x * float(r.integers(5))

    return (f, (t(3),))


@equal
def torch_generator():
    def f(x):
        g = torch.Generator().manual_seed(1)
        return x + torch.rand(3, generator=g)

    return (f, (t(3),))


@refused('generator-argument')
def torch_generator_outside():
    g = torch.Generator().manual_seed(1)
    def f(x):
        return x + torch.rand(3, generator=g)

    return (f, (t(3),))


@refused('global-rng')
def fork_rng():
    def f(x):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            y = torch.rand(3)
        return x + y

    return (f, (t(3),))


@refused('unrecordable-value')
def initial_seed():
    def f(x):
        return x * (torch.initial_seed() % 7)

    return (f, (t(3),))


@refused('constraint-violation')
def fstring_size():
    def f(x):
        return (
            x * len(f'{x.shape} x.shape={x.shape!r} {x.shape[0]:>5} {x.shape[0]!r:<4}|'),
            f'{x.shape[0]:05d}',
            f'{x.dtype} {x.device}',
            '%s %d' % (x.shape, x.shape[0]),
            '{:x}'.format(x.shape[0]),
        )

    return dyn(f, t(12), also=[t(7)])


@refused('constraint-violation')
def fstring_nested_spec():
    def f(x):
        n = x.shape[0]
        return (x, f'{3.14159:.{n}f}', f'{n:>{n}}', f'n = {n!r}')

    return dyn(f, t(4), also=[t(3)])


@refused('constraint-violation')
def fstring_int_of_size_key():
    def f(x):
        d = {f'layer{i}': i for i in range(5)}
        return x * d[f'layer{x.shape[0]}']

    return dyn(f, t(4), also=[t(3)])


@refused('constraint-violation')
def size_str_conversions():
    def f(x):
        return (
            x,
            str(x.shape),
            repr(x.size()),
            list(x.shape),
            tuple(x.shape),
            hash(x.shape) == hash(tuple(x.shape)),
            x.shape.numel(),
            x.shape + (1,),
            x.shape[::-1],
            (2,) + x.shape,
            x.shape * 2,
        )

    return dyn(f, t(4, 2), also=[t(3, 2)])


@refused('constraint-violation')
def size_index_count():
    def f(x):
        return (
            x * x.shape.count(2) + x.shape.index(2),
            type(x.shape[1:]).__name__,
            type(x.shape + x.shape).__name__,
            x.shape == [4, 2],
            x.shape == (4, 2),
            x.shape < (5,),
            (4, 2) in [x.shape],
        )

    return dyn(f, t(4, 2), also=[t(3, 2), t(2, 2)])


@refused('constraint-violation')
def slice_symbolic():
    def f(x):
        n = x.shape[0]
        s = slice(n // 2, None, 2)
        return (x[s], x[-n // 2:], x[:n - 1], list(range(100))[s][:2], s.indices(10), x[n // 3:-1])

    return dyn(f, t(8), also=[t(5), t(2), t(3), t(9)])


@refused('constraint-violation')
def slice_neg_step_list():
    def f(x):
        n = x.shape[0]
        return (x, list(range(20))[::-n][:3], list(range(20))[-n:], [0] * n, 'ab' * n, list(range(n, 0, -2)))

    return dyn(f, t(8), also=[t(5), t(2)])


@equal
def match_classes():
    @dataclass
    class P:
        a: int
        b: Any

    def f(x):
        r = []
        for v in (P(1, x), {'k': [1, 2, x]}, (1, 2), 's', x, [1, [2, 3]], 3.0, True, None):
            match v:
                case P(a=1, b=torch.Tensor() as y):
                    r.append(y * 2)
                case {'k': [_, b, *rest]} if b == 2:
                    r.append(rest[0] * 3)
                case str() | bytes():
                    r.append(4)
                case torch.Tensor(shape=s):
                    r.append(tuple(s))
                case [int(), [q, *_]]:
                    r.append(q)
                case [1, z]:
                    r.append(z)
                case bool():
                    r.append('b')
                case float(w):
                    r.append(w)
                case None:
                    r.append(0)
        return r

    return (f, (t(3),))


@equal
def match_size():
    def f(x):
        match x.shape:
            case [2, _]:
                return x * 2
            case [n, 3] if n > 5:
                return x * 5
            case [n, *rest]:
                return x * n

    return dyn(f, t(4, 3), also=[t(2, 3), t(7, 3)])


@equal
def walrus_star():
    def f(x):
        if (n := x.shape[0]) > 3 and (m := (n * 2)):
            y = x * m
        else:
            y = x
        a, *b, c = [y, 1, 2, 3]
        (d, (e, *g)), h = ((1, (2, 3, 4)), 5)
        return (
            a * sum(b) + c + d + e + sum(g) + h,
            [(z := i) for i in range(3)],
            z,
            {**{'a': 1}, 'a': 2},
            [*range(2), *'ab'],
        )

    return (f, (t(4),))


@equal
def except_star_nested():
    def f(x):
        r = []
        try:
            try:
                raise ExceptionGroup('a', [ValueError(1), ExceptionGroup('b', [KeyError(2), OSError(3)])])
            except* KeyError as g:
                r.append(len(g.exceptions))
                raise TypeError('t')
            except* ValueError:
                r.append(7)
        except ExceptionGroup as g:
            r.append(repr(g))
        return (x, r)

    return (f, (t(3),))


@equal
def except_star_return_split():
    def f(x):
        g = ExceptionGroup('a', [ValueError(1), OSError(3)])
        m, rest = g.split(ValueError)
        return (
            x * len(m.exceptions),
            g.subgroup(lambda e: isinstance(e, OSError)).exceptions[0].args,
            g.derive([OSError()]).message,
        )

    return (f, (t(3),))


@equal
def finally_return():
    def g():
        for i in range(3):
            try:
                raise ValueError
            finally:
                if i == 1:
                    break
                continue
        try:
            return 1
        finally:
            return i * 10

    def f(x):
        return x * g()

    return (f, (t(3),))

