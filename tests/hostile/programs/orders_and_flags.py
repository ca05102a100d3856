"""What a program reads of orders of keys, flags of tensors, classes and tracebacks."""

# ruff: noqa: F841, RUF015

from __future__ import annotations

import sys
import traceback

import torch

from tests.export.probe import Case, equal, refused, t

from .reflection import B0, B1, leaf


@equal
def dict_order():

    def f(d):
        y = 0
        for i, (_, v) in enumerate(d.items()):
            y = y + v * i
        return y

    a, b = (t(3), t(3))
    return Case(f, ({"a": a, "b": b},), also=[(({"b": b, "a": a},), {})])


@equal
def kwargs_order():

    def f(**kw):
        y = 0
        for i, (_, v) in enumerate(kw.items()):
            y = y + v * i
        return y

    a, b = (t(3), t(3))
    return Case(f, (), {"a": a, "b": b}, also=[((), {"b": b, "a": a})])


@equal
def kwargs_order_list():

    def f(x, **kw):
        return kw[list(kw)[0]] * x

    a, b = (t(3), t(3))
    return Case(f, (a,), {"a": a, "b": b}, also=[((a,), {"b": b, "a": a})])


@equal
def kwargs_order_nolook():

    def f(x, **kw):
        return kw["a"] * x - kw["b"]

    a, b = (t(3), t(3))
    return Case(f, (a,), {"a": a, "b": b}, also=[((a,), {"b": b, "a": a})])


@equal
def dict_order_nested():

    def f(x):
        return next(iter(x["o"][0].values())) * 2

    a, b = (t(3), t(3))
    return Case(f, ({"o": [{"p": a, "q": b}]},), also=[(({"o": [{"q": b, "p": a}]},), {})])


@equal
def dict_order_stack():

    def f(d):
        return torch.stack(list(d.values()))

    a, b = (t(3), t(3))
    return Case(f, ({"a": a, "b": b},), also=[(({"b": b, "a": a},), {})])


@equal
def dict_order_output():

    def f(d):
        return {k: v * 2 for k, v in d.items()}

    a, b = (t(3), t(3))
    return Case(f, ({"b": a, "a": b},), also=[(({"a": b, "b": a},), {})])


@equal
def ordereddict_order():
    from collections import OrderedDict as O

    def f(d):
        return next(iter(d.values())) * 2

    a, b = (t(3), t(3))
    return Case(f, (O(a=a, b=b),), also=[((O(b=b, a=a),), {})])


@equal
def popitem():

    def f(d):
        d = dict(d)
        return d.popitem()[1] * 2

    a, b = (t(3), t(3))
    return Case(f, ({"a": a, "b": b},), also=[(({"b": b, "a": a},), {})])


@equal
def kwargs_to_callee():

    def g(**kw):
        return list(kw.values())[0]

    def f(**kw):
        return g(**kw) * 2

    a, b = (t(3), t(3))
    return Case(f, (), {"a": a, "b": b}, also=[((), {"b": b, "a": a})])


@equal
def conj_input_is_conj():

    def f(x):
        return x + 1 if x.is_conj() else x - 1

    c = torch.randn(3, dtype=torch.complex64)
    return Case(f, (c.conj(),), also=[((c,), {})])


@equal
def nonconj_input_is_conj():

    def f(x):
        return x + 1 if x.is_conj() else x - 1

    c = torch.randn(3, dtype=torch.complex64)
    return Case(f, (c,), also=[((c.conj(),), {})])


@equal
def conj_in_forward():

    def f(x):
        y = x.conj()
        return (y * 2, y.is_conj() * x, y.resolve_conj().is_conj() * x)

    return (f, (torch.randn(3, dtype=torch.complex64),))


@equal
def imag_view():

    def f(x):
        return (x.imag * 2, x.conj().imag.is_neg() * x)

    return (f, (torch.randn(3, dtype=torch.complex64),))


@equal
def imag_input_neg():

    def f(x):
        return x * 2 if x.is_neg() else x * 3

    c = torch.randn(3, dtype=torch.complex64)
    return Case(f, (c.conj().imag,), also=[((c.imag,), {})])


@equal
def subclasses():

    def f(x):
        return x * len(B0.__subclasses__())

    return (f, (t(3),))


@refused("unrecordable-value")
def subclasses_local():

    def f(x):

        class B2(B0):
            pass

        return x * len(B0.__subclasses__())

    return (f, (t(3),))


@equal
def subclasses_local_only():

    def f(x):

        class A:
            pass

        class C(A):
            pass

        return x * len(A.__subclasses__())

    return (f, (t(3),))


@equal
def mro():

    def f(x):
        return x * len(B1.mro()) * len(B1.__mro__)

    return (f, (t(3),))


@equal
def tb_lineno():

    def f(x):
        try:
            raise ValueError
        except ValueError as e:
            return x * e.__traceback__.tb_lineno

    return (f, (t(3),))


@equal
def tb_depth():

    def g():
        raise ValueError

    def f(x):
        try:
            g()
        except ValueError as e:
            n = 0
            b = e.__traceback__
            while b:
                n += 1
                b = b.tb_next
            return x * n

    return (f, (t(3),))


@equal
def tb_depth_native():

    def g(a):
        raise ValueError

    def f(x):
        try:
            list(map(g, [1]))
        except ValueError as e:
            n = 0
            b = e.__traceback__
            while b:
                n += 1
                b = b.tb_next
            return x * n

    return (f, (t(3),))


@equal
def tb_format():

    def f(x):
        try:
            raise ValueError("a")
        except ValueError:
            s = traceback.format_exc()
        return x * len(s)

    return (f, (t(3),))


@equal
def tb_torch_error():

    def f(x):
        try:
            x.view(7)
        except RuntimeError as e:
            return x * len(traceback.extract_tb(e.__traceback__))

    return (f, (t(3),))


@equal
def tb_with():

    def f(x):
        try:
            raise ValueError("a").with_traceback(None)
        except ValueError as e:
            return x * (e.__traceback__ is not None)

    return (f, (t(3),))


@refused("unrecordable-value")
def tb_frame_locals():

    def f(x):
        k = 3
        try:
            raise ValueError("a")
        except ValueError as e:
            return x * e.__traceback__.tb_frame.f_locals["k"]

    return (f, (t(3),))


@equal
def exc_info():

    def f(x):
        try:
            raise ValueError
        except ValueError:
            a = sys.exc_info()[0] is ValueError
        return x * a * (sys.exc_info()[0] is None)

    return (f, (t(3),))


@refused("unrecordable-id")
def sorted_map_str():

    class Q:
        pass

    def f(x):
        L = [Q(), Q(), Q()]
        M = sorted(map(str, L))
        return x * [str(o) for o in L].index(M[0])

    return (f, (t(3),))


@equal
def size_plus_bool():

    def f(x, n):
        return x * (x.shape[0] + (n > 2))

    return (f, (t(3), 4))


@equal
def gfn_x_y_is():

    class R(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return -g

    def f(x):
        y = R.apply(x)
        return x + 1 if y is x else x - 1

    return (f, (leaf(3),))
