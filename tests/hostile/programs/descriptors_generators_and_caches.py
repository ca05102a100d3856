"""Descriptors, metaclasses, classes, context managers, generators, lru_cache and cached_property."""

# ruff: noqa: B007, E742, F841

from __future__ import annotations

import functools
from typing import Generic, TypeVar

import torch
from torch import nn

from tests.export.probe import equal, refused, t

T = TypeVar('T')


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



G = 3


@equal
def descriptor_counts():
    class D:
        def __set_name__(self, o, n):
            self.n = '_' + n

        def __get__(self, i, o):
            i.__dict__['cnt'] = i.__dict__.get('cnt', 0) + 1
            return getattr(i, self.n)

        def __set__(self, i, v):
            setattr(i, self.n, v * 2)


    class A:
        v = D()

    def f(x):
        a = A()
        a.v = 3
        return x * a.v + a.v + a.cnt

    return (f, (t(3),))


@equal
def descriptor_on_module():
    class D:
        def __get__(self, i, o):
            return i.w * 2


    class M(Base):
        d = D()
        def forward(self, x):
            return x * self.d


    return (M(w=nn.Parameter(t(3))), (t(3),))


@equal
def descriptor_delete():
    class D:
        def __get__(self, i, o):
            return i.__dict__.get('q', 7)

        def __set__(self, i, v):
            i.__dict__['q'] = v

        def __delete__(self, i):
            i.__dict__.pop('q', None)


    class A:
        v = D()

    def f(x):
        a = A()
        a.v = 2
        y = x * a.v
        del a.v
        return y * a.v

    return (f, (t(3),))


@equal
def metaclass_call():
    class Meta(type):
        def __call__(cls, *a, **k):
            o = super().__call__(*a, **k)
            o.made = cls.__name__
            return o


    class A(metaclass=Meta):
        def __init__(self, n):
            self.n = n


    def f(x):
        a = A(3)
        return x * a.n * len(a.made)

    return (f, (t(3),))


@equal
def metaclass_prepare():
    class NS(dict):
        def __setitem__(s, k, v):
            super().__setitem__(k, v)
            s.setdefault('order', []).append(k) if k != 'order' else None


    class Meta(type):
        @classmethod
        def __prepare__(m, n, b, **k):
            return NS()

        def __new__(m, n, b, ns, **k):
            return super().__new__(m, n, b, dict(ns))


    def f(x):
        class A(metaclass=Meta):
            a = 1
            b = 2

        return x * len(A.order)

    return (f, (t(3),))


@equal
def init_subclass_kwargs():
    class R:
        def __init_subclass__(cls, /, scale=1, **k):
            super().__init_subclass__(**k)
            cls.scale = scale


    def f(x):
        class A(R, scale=3):
            pass

        return x * A.scale

    return (f, (t(3),))


@equal
def class_getitem():
    class A:
        def __class_getitem__(cls, n):
            return n * 2


    def f(x):
        return x * A[3]

    return (f, (t(3),))


@equal
def generic_alias_class():
    class G(Generic[T]):
        def m(self):
            return 2


    def f(x):
        return (x * G[int]().m(), str(list[int]), G[int].__origin__ is G)

    return (f, (t(3),))


@equal
def context_manager_state():
    class C:
        depth = 0
        def __enter__(self):
            C.depth += 1
            return C.depth

        def __exit__(self, *a):
            C.depth -= 1


    def f(x):
        with C() as a, C() as b:
            y = x * a * b * 10
        return y + C.depth

    return (f, (t(3),))


@equal
def context_manager_swallow_changes():
    class C:
        def __init__(s):
            s.n = 0

        def __enter__(s):
            return s

        def __exit__(s, t, v, tb):
            s.n += 1 if t else 10
            return t is KeyError


    def f(x):
        c = C()
        with c:
            raise KeyError
        with c:
            pass
        return x * c.n

    return (f, (t(3),))


@equal
def gen_send_throw_close():
    def g():
        acc = 0
        try:
            while True:
                try:
                    acc += (yield acc)
                except ValueError:
                    acc = -100
        finally:
            log.append(acc)

    log = []
    def f(x):
        log.clear()
        it = g()
        next(it)
        it.send(3)
        a = it.send(4)
        b = it.throw(ValueError)
        it.close()
        return x * a + b + log.pop()

    return (f, (t(3),))


@equal
def gen_return_value_yield_from():
    def g():
        y = (yield 1)
        return y * 2

    def h():
        r = (yield from g())
        yield r

    def f(x):
        it = h()
        n = next(it)
        r = it.send(x)
        return r + n

    return (f, (t(3),))


@equal
def gen_throw_into_yield_from():
    def g():
        try:
            yield 1
        except KeyError as e:
            yield 10

    def h():
        yield from g()

    def f(x):
        it = h()
        next(it)
        return x * it.throw(KeyError('a'))

    return (f, (t(3),))


@equal
def gen_with_finally_not_finished():
    log = []
    def g():
        try:
            yield 1
        finally:
            log.append(1)

    def f(x):
        log.clear()
        for v in g():
            break
        n = len(log)
        log.clear()
        return x * (n + 1)

    return (f, (t(3),))


@refused('python-state')
def lru_cache_outside():
    calls = []
    @functools.lru_cache(maxsize=2)
    def g(n):
        calls.append(n)
        return n * 2

    def f(x):
        return x * g(2) + len(calls)

    return (f, (t(3),))


@equal
def lru_cache_inside():
    def f(x):
        @functools.lru_cache
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)

        return (x * fib(20), fib.cache_info().hits)

    return (f, (t(3),))


@equal
def cache_of_tensors():
    @functools.cache
    def g(n):
        return torch.arange(n).float()

    def f(x):
        return x + g(3)

    return (f, (t(3),))


@equal
def cached_property_on_module():
    class M(Base):
        @functools.cached_property
        def c(self):
            return self.w * 2

        def forward(self, x):
            return x + self.c


    return (M(w=nn.Parameter(t(3))), (t(3),))


@equal
def cached_property_on_object():
    class O:
        def __init__(s):
            s.n = 3

        @functools.cached_property
        def c(s):
            return s.n * 2


    o = O()
    def f(x):
        return x + o.c

    return (f, (t(3),))

