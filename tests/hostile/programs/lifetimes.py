"""When objects die: weak references, their callbacks, __del__"""

# ruff: noqa: F841, B007, C417, E731

from __future__ import annotations

import gc
import sys
import weakref

from tests.export.probe import equal, refused, t


class Thing:
    def __init__(self, *args):
        self.args = args


def leaf(*shape):
    return t(*shape, requires_grad=True)


@equal
def weak_del():

    def f(x):
        o = Thing()
        r = weakref.ref(o)
        del o
        return x + 1 if r() is None else x - 1

    return (f, (t(3),))


@equal
def weak_rebind():

    def f(x):
        o = Thing()
        r = weakref.ref(o)
        o = None
        return x + 1 if r() is None else x - 1

    return (f, (t(3),))


@equal
def weak_fn_return():

    def g():
        o = Thing()
        return weakref.ref(o)

    def f(x):
        return x + 1 if g()() is None else x - 1

    return (f, (t(3),))


@equal
def weak_arg():

    def g(o):
        return weakref.ref(o)

    def f(x):
        return x + 1 if g(Thing())() is None else x - 1

    return (f, (t(3),))


@equal
def weak_callback():

    def f(x):
        L = []
        o = Thing()
        r = weakref.ref(o, lambda r: L.append(1))
        a = len(L)
        del o
        return x * (len(L) - a)

    return (f, (t(3),))


@equal
def weak_method():

    class C:
        def m(s):
            return weakref.ref(s)

    def f(x):
        return x + 1 if C().m()() is None else x - 1

    return (f, (t(3),))


@equal
def del_order():

    def f(x):
        L = []

        class D:
            def __init__(s, n):
                s.n = n

            def __del__(s):
                L.append(s.n)

        a = D(1)
        b = D(2)
        b = None
        L.append(9)
        del a
        L.append(8)
        return x * int("".join(map(str, L)))

    return (f, (t(3),))


@equal
def del_temp():

    def f(x):
        L = []

        class D:
            def __del__(s):
                L.append(1)

        D()
        L.append(2)
        [D()]
        L.append(3)
        (D(), 1)[1]
        L.append(4)
        return x * int("".join(map(str, L)))

    return (f, (t(3),))


@equal
def del_loop():

    def f(x):
        L = []

        class D:
            def __init__(s, n):
                s.n = n

            def __del__(s):
                L.append(s.n)

        for i in range(3):
            d = D(i)
            L.append(7)
        return x * int("".join(map(str, L)))

    return (f, (t(3),))


@equal
def del_iter_items():

    def f(x):
        L = []

        class D:
            def __init__(s, n):
                s.n = n

            def __del__(s):
                L.append(s.n)

        for d in (D(i) for i in range(3)):
            L.append(7)
        del d
        return x * int("".join(map(str, L)))

    return (f, (t(3),))


@refused("object-lifetime")
def del_exception():

    def f(x):
        L = []

        class D:
            def __del__(s):
                L.append(1)

        def g():
            d = D()
            raise ValueError

        try:
            g()
        except ValueError:
            L.append(2)
        L.append(3)
        return x * int("".join(map(str, L)))

    return (f, (t(3),))


@refused("object-lifetime")
def del_exception_kept():

    def f(x):
        L = []

        class D:
            def __del__(s):
                L.append(1)

        def g():
            d = D()
            raise ValueError

        try:
            g()
        except ValueError as e:
            k = e
        L.append(3)
        del k
        L.append(4)
        return x * int("".join(map(str, L)))

    return (f, (t(3),))


@equal
def del_generator_close():

    def f(x):
        L = []

        def g():
            try:
                yield 1
            finally:
                L.append(1)

        i = g()
        next(i)
        L.append(2)
        del i
        L.append(3)
        return x * int("".join(map(str, L)))

    return (f, (t(3),))


@equal
def del_generator_break():

    def f(x):
        L = []

        def g():
            try:
                yield 1
                yield 2
            finally:
                L.append(1)

        for i in g():
            break
        L.append(2)
        return x * int("".join(map(str, L)))

    return (f, (t(3),))


@equal
def del_generator_local():

    def f(x):
        L = []

        class D:
            def __del__(s):
                L.append(1)

        def g():
            d = D()
            yield 1
            L.append(5)

        i = g()
        next(i)
        next(i, None)
        L.append(2)
        return x * int("".join(map(str, L)))

    return (f, (t(3),))


@equal
def weakvaluedict():

    def f(x):
        d = weakref.WeakValueDictionary()
        o = Thing()
        d["a"] = o
        n = len(d)
        del o
        return x * (n * 10 + len(d))

    return (f, (t(3),))


@equal
def weakset():

    def f(x):
        d = weakref.WeakSet()
        o = Thing()
        d.add(o)
        n = len(d)
        o = 0
        return x * (n * 10 + len(d))

    return (f, (t(3),))


@equal
def weakkey():

    def f(x):
        d = weakref.WeakKeyDictionary()
        d[Thing()] = 1
        return x * len(d) + 1

    return (f, (t(3),))


@refused("unrecordable-value")
def refcount():

    def f(x):
        o = Thing()
        return x * sys.getrefcount(o)

    return (f, (t(3),))


@equal
def weak_tensor():

    def f(x):
        y = x * 2
        r = weakref.ref(y)
        del y
        return x + 1 if r() is None else x - 1

    return (f, (t(3),))


@equal
def weak_tensor_fn():

    def g(x):
        y = x * 2
        return (weakref.ref(y), y + 1)

    def f(x):
        r, z = g(x)
        return z + 1 if r() is None else z - 1

    return (f, (t(3),))


@equal
def weak_tensor_grad():

    def g(x):
        y = x * 2
        return (weakref.ref(y), y + 1)

    def f(x):
        r, z = g(x)
        return z + 1 if r() is None else z - 1

    return (f, (leaf(3),))


@equal
def weak_tensor_dict():

    def f(x):
        d = weakref.WeakValueDictionary()
        d["a"] = x * 2
        return x + len(d)

    return (f, (t(3),))


@equal
def weak_closure():

    def f(x):
        o = Thing()
        r = weakref.ref(o)

        def g():
            return o

        g()
        del g
        o = None
        return x + 1 if r() is None else x - 1

    return (f, (t(3),))


@equal
def weak_comprehension():

    def f(x):
        rs = [weakref.ref(Thing()) for _ in range(3)]
        return x * sum(r() is None for r in rs)

    return (f, (t(3),))


@equal
def weak_lambda_default():

    def f(x):
        o = Thing()
        r = weakref.ref(o)
        h = lambda o=o: 1
        del o
        a = r() is None
        del h
        return x * (a * 10 + (r() is None))

    return (f, (t(3),))


@equal
def weak_starargs():

    def g(*a, **k):
        return weakref.ref(a[0])

    def f(x):
        return x * (g(Thing(), k=1)() is None)

    return (f, (t(3),))


@equal
def weak_with():

    class C:
        def __enter__(s):
            return Thing()

        def __exit__(s, *a):
            return None

    def f(x):
        with C() as o:
            r = weakref.ref(o)
        del o
        return x * (r() is None)

    return (f, (t(3),))


@equal
def weak_partial_map():

    def f(x):
        rs = list(map(lambda o: weakref.ref(o), [Thing(), Thing()]))
        return x * sum(r() is None for r in rs)

    return (f, (t(3),))


@equal
def weak_sorted_key():

    def f(x):
        L = []

        def k(i):
            o = Thing()
            L.append(weakref.ref(o))
            return i

        sorted([2, 1], key=k)
        return x * sum(r() is None for r in L)

    return (f, (t(3),))


@equal
def weak_cycle_gc():

    def f(x):
        o = Thing()
        o.s = o
        r = weakref.ref(o)
        del o
        a = r() is None
        gc.collect()
        return x * (a * 10 + (r() is None))

    return (f, (t(3),))


@equal
def weak_super():

    class A:
        def m(s):
            return weakref.ref(s)

    class C(A):
        def m(s):
            return super().m()

    def f(x):
        return x * (C().m()() is None)

    return (f, (t(3),))


@equal
def weak_del_attr():

    def f(x):
        h = Thing()
        h.o = Thing()
        r = weakref.ref(h.o)
        del h.o
        return x * (r() is None)

    return (f, (t(3),))


@equal
def weak_del_item():

    def f(x):
        d = {"a": Thing()}
        r = weakref.ref(d["a"])
        d.clear()
        return x * (r() is None)

    return (f, (t(3),))


@equal
def weak_list_pop():

    def f(x):
        d = [Thing()]
        r = weakref.ref(d[0])
        d.pop()
        return x * (r() is None)

    return (f, (t(3),))
