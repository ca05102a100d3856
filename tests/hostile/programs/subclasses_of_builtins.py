"""Subclasses of dict, list, int, str; properties, weak references, imports, closures."""

# ruff: noqa: B006, B024, E741, E742, RUF005, UP031

from __future__ import annotations

import abc
import collections
import importlib
import math
import weakref
from dataclasses import dataclass

import torch
from torch import nn

from tests.export.probe import equal, raises, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



GLOB = 1


@refused('outside-object')
def abc_register():
    class A(abc.ABC):
        pass

    class B:
        pass

    def f(x):
        A.register(B)
        return x * isinstance(B(), A)

    return (f, (t(3),))


@equal
def counter_default_dict():
    def f(x):
        d = collections.defaultdict(list)
        d['a'].append(x)
        d['b']
        c = collections.Counter('abca')
        c.update('a')
        c['z'] -= 1
        return (
            d['a'][0] * len(d),
            c.most_common(1),
            +c == collections.Counter('abcaa'),
            collections.ChainMap({'a': 1}, {'a': 2})['a'],
        )

    return (f, (t(3),))


@equal
def userdict_userlist():
    class D(collections.UserDict):
        def __missing__(s, k):
            return k * 2


    class L(collections.UserList):
        pass

    def f(x):
        return x * D()[3] + len(L([1, 2]) + [3])

    return (f, (t(3),))


@equal
def dict_subclass_missing():
    class D(dict):
        def __missing__(s, k):
            s[k] = 5
            return 6


    def f(x):
        d = D()
        return (x * d['a'] + d['a'], d.get('q'), dict(d))

    return (f, (t(3),))


@equal
def list_subclass_overrides():
    class L(list):
        def __getitem__(s, i):
            return super().__getitem__(i) * 10

        def __len__(s):
            return 99

        def __iter__(s):
            return iter([7])


    def f(x):
        l = L([1, 2])
        return (x * l[1] + len(l) + sum(l), list(l), [*l], bool(l), l == [1, 2], max(l), tuple(l))

    return (f, (t(3),))


@equal
def int_subclass():
    class I(int):
        def __add__(s, o):
            return 100

        def __radd__(s, o):
            return 200

        def __index__(s):
            return 1


    def f(x):
        return (x * (I(3) + 1) + (1 + I(3)), x[I(0)], x + I(3), torch.zeros(I(3)), [5, 6, 7, 8][I(2)])

    return (f, (t(3),))


@equal
def str_subclass_format():
    class S(str):
        def __format__(s, spec):
            return 'F' + spec

        def __str__(s):
            return 'S'


    def f(x):
        return (
            x,
            f"{S('a')}",
            f"{S('a'):q}",
            str(S('a')),
            '%s' % S('a'),
            '{}'.format(S('a')),
            S('a') + 'b',
            ''.join([S('a')]),
        )

    return (f, (t(3),))


@equal
def float_subclass_scalar():
    class Fl(float):
        def __mul__(s, o):
            return 'mul'

        def __float__(s):
            return 9.0


    def f(x):
        return (x * Fl(2.0), x + Fl(2.0), torch.full((2,), Fl(3.0)), math.sqrt(Fl(4.0)))

    return (f, (t(3),))


@equal
def property_with_cache_on_dataclass():
    @dataclass
    class C:
        n: int
        _c: int | None = None
        @property
        def sq(s):
            if s._c is None:
                s._c = s.n ** 2
            return s._c


    c = C(3)
    def f(x):
        return x * c.sq

    return (f, (t(3),))


@equal
def weak_cache_by_module():
    cache = weakref.WeakKeyDictionary()
    class M(Base):
        def forward(self, x):
            if self not in cache:
                cache[self] = 3
            return x * cache[self]


    return (M(), (t(3),))


@refused('python-state')
def global_rebound():
    def f(x):
        global GLOB
        GLOB = GLOB + 1
        return x * GLOB

    global GLOB
    GLOB = 1
    return (f, (t(3),))


@equal
def importlib_reload_like():
    def f(x):
        m = importlib.import_module('math')
        return x * m.floor(2.5)

    return (f, (t(3),))


@refused('python-state')
def default_argument_mutable():
    def g(v, acc=[]):
        acc.append(v)
        return len(acc)

    def f(x):
        return x * g(1)

    return (f, (t(3),))


@refused('python-state')
def function_attribute_counter():
    def g():
        g.n += 1
        return g.n

    g.n = 0
    def f(x):
        return x * g()

    return (f, (t(3),))


@equal
def closure_cell_written():
    def make():
        n = 0
        def g():
            nonlocal n
            n = 5
            return n

        return g

    g = make()
    def f(x):
        return x * g() * g.__closure__[0].cell_contents

    return (f, (t(3),))


@equal
def swallowed_error_then_write():
    class M(Base):
        def forward(self, x):
            try:
                self.b.add_(1)
                raise ValueError
            except ValueError:
                pass
            return x + self.b


    m = M()
    m.register_buffer('b', torch.zeros(3))
    return (m, (t(3),))


@raises
def write_then_uncaught():
    class M(Base):
        def forward(self, x):
            self.b.add_(1)
            self.n = 5
            raise ValueError


    m = M()
    m.register_buffer('b', torch.zeros(3))
    return (m, (t(3),))

