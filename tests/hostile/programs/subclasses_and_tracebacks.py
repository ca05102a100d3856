"""Lists of subclasses and bases, tracebacks, frames, exceptions, inference tensors."""

# ruff: noqa: B904, F841

from __future__ import annotations

import gc
import inspect
import sys
import traceback

import torch
from torch import nn

from tests.export.probe import Case, equal, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



def leaf(*s):
    return t(*s, requires_grad=True)


class S0:
    pass


class S1(S0):
    pass


@equal
def subclasses_by_name():
    def f(x):
        return x * [c.__name__ for c in S0.__subclasses__()].count('S1')

    return (f, (t(3),))


@equal
def subclasses_registry():
    class R:
        reg = {}
        def __init_subclass__(cls, **kw):
            R.reg[cls.__name__] = cls


    class A(R):
        k = 2

    class B(R):
        k = 3

    def f(x, name):
        return x * R.reg[name].k

    return Case(f, (t(3), 'A'), also=[((t(3), 'B'), {})])


@equal
def subclasses_registry_grows():
    class R:
        reg = {}
        def __init_subclass__(cls, **kw):
            R.reg[cls.__name__] = cls


    def f(x):
        class A(R):
            k = 2

        return x * R.reg['A'].k

    return (f, (t(3),))


@equal
def subclasses_recursive():
    def all_of(c):
        return {c, *(s for d in c.__subclasses__() for s in all_of(d))}

    def f(x):
        return x * len(all_of(S0))

    return (f, (t(3),))


@equal
def subclasses_of_int():
    def f(x):
        return x + (bool in int.__subclasses__())

    return (f, (t(3),))


@refused('unrecordable-value')
def subclasses_after_del():
    def f(x):
        class R:
            pass

        class Q(R):
            pass

        n = len(R.__subclasses__())
        del Q
        gc.collect()
        return x * (n * 10 + len(R.__subclasses__()))

    return (f, (t(3),))


@equal
def bases_changed():
    def f(x):
        class A:
            k = 1

        class B:
            k = 2

        class C(A):
            pass

        a = C().k
        C.__bases__ = (B,)
        return x * (a * 10 + C.k)

    return (f, (t(3),))


@equal
def tb_names():
    def g():
        raise ValueError('x')

    def f(x):
        try:
            g()
        except ValueError as e:
            names = [fr.name for fr in traceback.extract_tb(e.__traceback__)]
        return (x * len(names), names)

    return (f, (t(3),))


@equal
def tb_in_module_call():
    class Inner(Base):
        def forward(self, x):
            raise KeyError('k')


    class M(Base):
        def forward(self, x):
            try:
                self.inner(x)
            except KeyError as e:
                return x * len(traceback.extract_tb(e.__traceback__))


    return (M(inner=Inner()), (t(3),))


@equal
def tb_format_exc():
    def f(x):
        try:
            {}['a']
        except KeyError:
            s = traceback.format_exc()
        return (x * s.count('KeyError'), s.splitlines()[-1])

    return (f, (t(3),))


@equal
def tb_format_exception_chain():
    def f(x):
        try:
            try:
                {}['a']
            except KeyError as e:
                raise ValueError('b') from e
        except ValueError as e:
            s = ''.join(traceback.format_exception(e))
        return (x * s.count('direct cause'), s.count('\n'))

    return (f, (t(3),))


@equal
def tb_next_walk():
    def g(n):
        if n == 0:
            raise ValueError
        g(n - 1)

    def f(x):
        try:
            g(3)
        except ValueError as e:
            n, tb = (0, e.__traceback__)
            while tb:
                n, tb = (n + tb.tb_frame.f_code.co_name.count('g'), tb.tb_next)
        return x * n

    return (f, (t(3),))


@equal
def tb_lineno_relative():
    def f(x):
        try:
            int('q')
        except ValueError as e:
            rel = e.__traceback__.tb_lineno - f.__code__.co_firstlineno
        return x * rel

    return (f, (t(3),))


@equal
def tb_of_generator():
    def g():
        yield 1
        raise ValueError

    def f(x):
        try:
            list(g())
        except ValueError as e:
            return x * len(traceback.extract_tb(e.__traceback__))

    return (f, (t(3),))


@equal
def tb_reraised():
    def f(x):
        try:
            try:
                int('q')
            except ValueError as e:
                saved = e
            raise saved
        except ValueError as e:
            return x * len(traceback.extract_tb(e.__traceback__))

    return (f, (t(3),))


@equal
def tb_with_traceback_none():
    def f(x):
        try:
            try:
                int('q')
            except ValueError as e:
                raise e.with_traceback(None)
        except ValueError as e:
            return x * len(traceback.extract_tb(e.__traceback__))

    return (f, (t(3),))


@equal
def tb_exc_info_in_callback():
    def f(x):
        def cb(v):
            return (sys.exc_info()[0] is ValueError, v)

        try:
            int('q')
        except ValueError:
            return x * sorted([2, 1], key=cb)[0]

    return (f, (t(3),))


@equal
def stack_names():
    def g():
        return [fr.name for fr in traceback.extract_stack()][-2:]

    def f(x):
        return (x, g())

    return (f, (t(3),))


@equal
def inspect_stack_function():
    def g():
        return inspect.stack()[1].function

    def f(x):
        return x * (g() == 'f')

    return (f, (t(3),))


@equal
def getframe_back_locals():
    def g():
        return sys._getframe(1).f_locals['q']

    def f(x):
        q = 5
        return x * g()

    return (f, (t(3),))


@equal
def exception_group_traceback():
    def f(x):
        try:
            raise ExceptionGroup('g', [ValueError(1), TypeError(2)])
        except* ValueError as e:
            n = len(e.exceptions)
        except* TypeError as e:
            n += 10 * len(e.exceptions)
        return x * n

    return (f, (t(3),))


@equal
def exception_notes():
    def f(x):
        try:
            e = ValueError('a')
            e.add_note('n1')
            raise e
        except ValueError as e2:
            return (x * len(e2.__notes__), e2.__notes__, traceback.format_exception_only(e2))

    return (f, (t(3),))


@equal
def inference_input():
    def f(x):
        return (x * 2, x.is_inference())

    with torch.inference_mode():
        a = torch.ones(3)
    return Case(f, (a,), also=[((torch.ones(3),), {})])


@equal
def inference_buffer():
    class M(Base):
        def forward(self, x):
            return (x + self.b, self.b.is_inference())


    with torch.inference_mode():
        b = torch.ones(3)
    m = M()
    m.register_buffer('b', b)
    return (m, (t(3),))


@equal
def inference_attribute_constant():
    class M(Base):
        def forward(self, x):
            return x + self.b[0]


    m = M()
    with torch.inference_mode():
        m.b = (torch.ones(3),)
    return (m, (t(3),))


@equal
def inference_in_forward_write():
    def f(x):
        with torch.inference_mode():
            y = x * 2
        try:
            y.add_(1)
            n = 1
        except RuntimeError:
            n = 2
        return x * n

    return (f, (leaf(3),))

