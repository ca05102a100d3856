"""Special methods, recursion, locks, context variables, coroutines, the garbage collector."""

# ruff: noqa: E741

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import threading
import types

from tests.export.probe import equal, refused, t


@equal
def instancecheck_recursion_caught():
    class Meta(type):
        def __instancecheck__(cls, o):
            return isinstance(o, cls)


    class A(metaclass=Meta):
        pass

    def f(x):
        try:
            return x * isinstance(3, A)
        except RecursionError:
            return x * 2

    return (f, (t(3),))


@equal
def subclasscheck_recursion_caught():
    class Meta(type):
        def __subclasscheck__(cls, o):
            return issubclass(o, cls)


    class A(metaclass=Meta):
        pass

    def f(x):
        try:
            return x * issubclass(int, A)
        except RecursionError:
            return x * 2

    return (f, (t(3),))


@equal
def getattr_recursion_caught():
    class A:
        def __getattr__(self, n):
            return getattr(self, n + 'x')


    def f(x):
        try:
            return x * A().q
        except RecursionError:
            return x * 2

    return (f, (t(3),))


@equal
def eq_recursion_caught():
    class A:
        def __eq__(self, o):
            return o == self


    def f(x):
        try:
            return x * (A() == A())
        except RecursionError:
            return x * 2

    return (f, (t(3),))


@equal
def repr_recursion_caught():
    class A:
        def __repr__(self):
            return repr(self)


    def f(x):
        try:
            return x * len(repr(A()))
        except RecursionError:
            return x * 2

    return (f, (t(3),))


@equal
def hash_recursion_caught():
    class A:
        def __hash__(self):
            return hash(self)


    def f(x):
        try:
            return x * len({A()})
        except RecursionError:
            return x * 2

    return (f, (t(3),))


@equal
def call_recursion_caught():
    class A:
        def __call__(self):
            return self()


    def f(x):
        try:
            return x * A()()
        except RecursionError:
            return x * 2

    return (f, (t(3),))


@equal
def recursion_limit_read():
    def f(x):
        return x * (sys.getrecursionlimit() > 10)

    return (f, (t(3),))


@refused('process-state')
def recursion_limit_set():
    def f(x):
        old = sys.getrecursionlimit()
        sys.setrecursionlimit(old + 1)
        sys.setrecursionlimit(old)
        return x

    return (f, (t(3),))


@equal
def lock_in_try_finally():
    l = threading.Lock()
    def f(x):
        l.acquire()
        try:
            return x * 2
        finally:
            l.release()

    return (f, (t(3),))


@refused('lock-held')
def lock_held_by_caller():
    l = threading.Lock()
    l.acquire()
    def f(x):
        return x * (not l.acquire(blocking=False))

    return (f, (t(3),))


@refused('lock-held')
def lock_held_blocking_timeout():
    l = threading.Lock()
    l.acquire()
    def f(x):
        return x * (1 + l.acquire(timeout=0.01))

    return (f, (t(3),))


@equal
def condition_wait_for():
    c = threading.Condition()
    def f(x):
        with c:
            return x * c.wait_for(lambda: True)

    return (f, (t(3),))


@equal
def barrier_of_one():
    b = threading.Barrier(1)
    def f(x):
        return x * (b.wait() + 1)

    return (f, (t(3),))


@equal
def contextvar_token():
    v = contextvars.ContextVar('v', default=1)
    def f(x):
        tok = v.set(5)
        y = x * v.get()
        v.reset(tok)
        return y * v.get()

    return (f, (t(3),))


@equal
def contextvars_run():
    v = contextvars.ContextVar('v', default=1)
    def f(x):
        c = contextvars.copy_context()
        def g():
            v.set(4)
            return x * v.get()

        return c.run(g) * v.get()

    return (f, (t(3),))


@refused('background-code')
def asyncio_run():
    async def g(x):
        return x * 2

    def f(x):
        return asyncio.run(g(x))

    return (f, (t(3),))


@equal
def coroutine_send():
    async def g(x):
        return x * 2

    def f(x):
        c = g(x)
        try:
            c.send(None)
        except StopIteration as e:
            return e.value

    return (f, (t(3),))


@equal
def coroutine_closed():
    async def g(x):
        return x * 2

    def f(x):
        c = g(x)
        c.close()
        return x

    return (f, (t(3),))


@equal
def async_generator_by_hand():
    async def g(x):
        yield (x * 2)

    def f(x):
        a = g(x).__anext__()
        try:
            a.send(None)
        except StopIteration as e:
            return e.value

    return (f, (t(3),))


@equal
def async_with_by_hand():
    class C:
        async def __aenter__(self):
            return 3

        async def __aexit__(self, *a):
            return None


    async def g(x):
        async with C() as n:
            return x * n

    def f(x):
        try:
            g(x).send(None)
        except StopIteration as e:
            return e.value

    return (f, (t(3),))


@equal
def types_coroutine():
    @types.coroutine
    def s():
        n = (yield 1)
        return n

    async def g(x):
        return x * await s()

    def f(x):
        c = g(x)
        c.send(None)
        try:
            c.send(4)
        except StopIteration as e:
            return e.value

    return (f, (t(3),))


@equal
def gc_collect_count():
    def f(x):
        gc.collect()
        return x * gc.isenabled()

    return (f, (t(3),))


@refused('unrecordable-value')
def gc_get_objects():
    def f(x):
        return x * (len(gc.get_objects()) > 5)

    return (f, (t(3),))


@refused('unrecordable-value')
def gc_referrers():
    o = [1]
    def f(x):
        return x * len(gc.get_referrers(o))

    return (f, (t(3),))


@refused('unrecordable-value')
def refcount():
    o = [1]
    def f(x):
        return x * sys.getrefcount(o)

    return (f, (t(3),))


@equal
def sys_modules_patched():
    def f(x):
        m = types.ModuleType('qq')
        sys.modules['qq_h11'] = m
        import qq_h11
        del sys.modules['qq_h11']
        return x * (qq_h11 is m)

    return (f, (t(3),))

