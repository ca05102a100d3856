"""Inference tensors, weak references, weak dictionaries, `__del__`."""

# ruff: noqa: B007, E742, F821, F841, SIM117

from __future__ import annotations

import gc
import weakref

import torch
from torch import nn

from tests.export.probe import equal, refused, t


def leaf(*s):
    return t(*s, requires_grad=True)


class Obj:
    pass


@equal
def inference_saved_for_backward():
    def f(x):
        with torch.inference_mode():
            y = torch.ones(3) * 2
        try:
            return x * y
        except RuntimeError:
            return x * 3

    return (f, (leaf(3),))


@equal
def inference_clone_outside():
    def f(x):
        with torch.inference_mode():
            y = x * 2
        z = y.clone()
        return (z * x, z.is_inference())

    return (f, (leaf(3),))


@equal
def inference_mode_false_inside():
    def f(x):
        with torch.inference_mode():
            with torch.inference_mode(False):
                y = x * 2
                n = (torch.is_inference_mode_enabled(), torch.is_grad_enabled())
        return (y, n)

    return (f, (leaf(3),))


@refused('inference-output')
def inference_version():
    def f(x):
        with torch.inference_mode():
            y = x * 2
            try:
                return x * y._version
            except RuntimeError:
                return x + 7

    return (f, (leaf(3),))


@equal
def inference_view():
    def f(x):
        with torch.inference_mode():
            v = x[0]
        return (v.is_inference(), v._base is x, v * 2)

    return (f, (leaf(3, 2),))


@equal
def weakref_local_del():
    def f(x):
        o = Obj()
        r = weakref.ref(o)
        del o
        return x * (r() is None)

    return (f, (t(3),))


@equal
def weakref_tensor_del():
    def f(x):
        y = x * 2
        r = weakref.ref(y)
        z = y + 1
        del y
        return z * (r() is None)

    return (f, (t(3),))


@equal
def weakref_tensor_view_keeps_base():
    def f(x):
        y = x * 2
        r = weakref.ref(y)
        z = y[0]
        del y
        return z * (r() is None)

    return (f, (t(3),))


@equal
def weakref_overwritten():
    def f(x):
        o = Obj()
        r = weakref.ref(o)
        o = 1
        return x * (r() is None)

    return (f, (t(3),))


@equal
def weakref_loop_var():
    def f(x):
        rs = []
        for i in range(3):
            o = Obj()
            rs.append(weakref.ref(o))
        return x * sum(r() is None for r in rs)

    return (f, (t(3),))


@equal
def weakref_in_comprehension():
    def f(x):
        rs = [weakref.ref(o) for o in [Obj(), Obj()]]
        return x * (1 + sum(r() is None for r in rs))

    return (f, (t(3),))


@equal
def weakref_arg_of_call():
    def g(o):
        return weakref.ref(o)

    def f(x):
        return x * (g(Obj())() is None)

    return (f, (t(3),))


@equal
def weakref_exception():
    def f(x):
        try:
            o = Obj()
            r = weakref.ref(o)
            raise ValueError(o)
        except ValueError:
            pass
        del o
        return x * (1 + (r() is None))

    return (f, (t(3),))


@equal
def weakref_cycle():
    def f(x):
        o = Obj()
        o.me = o
        r = weakref.ref(o)
        del o
        a = r() is None
        gc.collect()
        return x * (a + 2 * (r() is None))

    return (f, (t(3),))


@equal
def weakref_generator_frame():
    def g(o):
        yield 1
        yield 2

    def f(x):
        o = Obj()
        r = weakref.ref(o)
        it = g(o)
        next(it)
        del o
        a = r() is None
        it.close()
        return x * (a + 2 * (r() is None))

    return (f, (t(3),))


@equal
def weakref_closure():
    def f(x):
        o = Obj()
        r = weakref.ref(o)
        def g():
            return o

        del o
        try:
            g()
            a = 1
        except NameError:
            a = 2
        return x * (a + 10 * (r() is None))

    return (f, (t(3),))


@equal
def weak_value_dictionary():
    def f(x):
        d = weakref.WeakValueDictionary()
        o = Obj()
        d['a'] = o
        n = len(d)
        del o
        return x * (n * 10 + len(d))

    return (f, (t(3),))


@equal
def weak_key_tensor():
    def f(x):
        d = weakref.WeakKeyDictionary()
        y = x + 1
        try:
            d[y] = 1
        except TypeError:
            return x
        n = len(d)
        del y
        return x * (n * 10 + len(d))

    return (f, (t(3),))


@equal
def weakref_method():
    class O:
        def m(self):
            return 3


    def f(x):
        o = O()
        r = weakref.WeakMethod(o.m)
        a = r()()
        del o
        return x * a * (r() is None)

    return (f, (t(3),))


@equal
def weakref_starargs():
    def g(*a, **k):
        return [weakref.ref(v) for v in a] + [weakref.ref(v) for v in k.values()]

    def f(x):
        return x * sum(r() is None for r in g(Obj(), k=Obj()))

    return (f, (t(3),))


@equal
def weakref_with_target():
    class C:
        def __enter__(self):
            self.o = Obj()
            return self.o

        def __exit__(self, *a):
            del self.o


    def f(x):
        with C() as o:
            r = weakref.ref(o)
        a = r() is None
        del o
        return x * (a + 2 * (r() is None))

    return (f, (t(3),))


@equal
def weakref_module_made():
    def f(x):
        m = nn.Linear(3, 3)
        r = weakref.ref(m)
        del m
        return x * (1 + (r() is None))

    return (f, (t(3),))


@refused('background-code')
def weakref_finalize():
    def f(x):
        log = []
        o = Obj()
        weakref.finalize(o, log.append, 1)
        del o
        return x * (1 + len(log))

    return (f, (t(3),))


@equal
def del_order():
    log = []
    class D:
        def __init__(s, n):
            s.n = n

        def __del__(s):
            log.append(s.n)


    def f(x):
        log.clear()
        def g():
            a = D(1)
            b = D(2)
            return 0

        g()
        r = list(log)
        log.clear()
        return x * r[0] + r[1]

    return (f, (t(3),))

