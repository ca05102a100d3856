"""What a program learns of classes, nodes, flags, orders and tracebacks"""

# ruff: noqa: F841, RUF015

from __future__ import annotations

import math
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


class B0:
    pass


class B1(B0):
    pass


def leaf(*shape):
    return t(*shape, requires_grad=True)


@equal
def type_of_parameter():

    def f(x):
        p = nn.Parameter(torch.zeros(3))
        return x + 1 if type(p) is nn.Parameter else x - 1

    return (f, (t(3),))


@equal
def isinstance_parameter():

    def f(x):
        p = nn.Parameter(torch.zeros(3))
        return x + 1 if isinstance(p, nn.Parameter) else x - 1

    return (f, (t(3),))


@equal
def parameter_class_attr():

    def f(x):
        p = nn.Parameter(torch.zeros(3))
        return x + 1 if p.__class__.__name__ == "Parameter" else x - 1

    return (f, (t(3),))


@equal
def parameter_op_type():

    def f(x):
        p = nn.Parameter(torch.zeros(3))
        return x + 1 if type(p * 2) is torch.Tensor else x - 1

    return (f, (t(3),))


@equal
def parameter_of_x_type():

    def f(x):
        p = nn.Parameter(x)
        return x + 1 if type(p) is nn.Parameter else x - 1

    return (f, (t(3),))


@equal
def parameter_norg():

    def f(x):
        p = nn.Parameter(x, requires_grad=False)
        return x + 1 if type(p) is nn.Parameter else x - 1

    return (f, (t(3),))


@equal
def buffer_type():

    def f(x):
        p = nn.Buffer(x)
        return x + 1 if isinstance(p, nn.Buffer) else x - 1

    return (f, (t(3),))


@equal
def parameter_setattr_registers():

    def f(x):
        m = nn.Module()
        m.p = nn.Parameter(x.detach())
        return x * len(list(m.parameters()))

    return (f, (t(3),))


@refused("tensor-subclass")
def uninit_param():

    def f(x):
        p = nn.parameter.UninitializedParameter()
        return x + 1 if isinstance(p, nn.Parameter) else x

    return (f, (t(3),))


@equal
def base_of_view():

    def f(x):
        y = x * 2
        z = y[0]
        return x + 1 if z._base is y else x - 1

    return (f, (t(3, 2),))


@equal
def base_of_view_of_view():

    def f(x):
        y = x * 2
        z = y[0][1:]
        return x + 1 if z._base is y else x - 1

    return (f, (t(3, 4),))


@equal
def base_of_input_view():

    def f(x):
        z = x[0]
        return x + 1 if z._base is x else x - 1

    return (f, (t(3, 4),))


@refused("autograd-graph")
def gf_repr():

    def f(x):
        y = x * 2
        return x + 1 if "Mul" in repr(y.grad_fn) else x - 1

    return (f, (leaf(3, 4),))


@refused("autograd-graph")
def gf_str_len():

    def f(x):
        y = x * 2
        return x + len(str(y.grad_fn))

    return (f, (leaf(3, 4),))


@refused("autograd-graph")
def gf_fstring():

    def f(x):
        y = x * 2
        return x + ("Mul" in f"{y.grad_fn}")

    return (f, (leaf(3, 4),))


@refused("autograd-graph")
def gf_type():

    def f(x):
        y = x * 2
        return x + 1 if type(y.grad_fn).__name__ == "MulBackward0" else x - 1

    return (f, (leaf(3, 4),))


@refused("autograd-graph")
def gf_name():

    def f(x):
        y = x * 2
        return x + 1 if y.grad_fn.name() == "MulBackward0" else x - 1

    return (f, (leaf(3, 4),))


@equal
def gf_eq():

    def f(x):
        y = x * 2
        z = y * 3
        return x + 1 if y.grad_fn == z.grad_fn else x - 1

    return (f, (leaf(3, 4),))


@refused("autograd-graph")
def gf_next():

    def f(x):
        y = x * 2
        z = y + 3
        return x + 1 if z.grad_fn.next_functions[0][0] is y.grad_fn else x - 1

    return (f, (leaf(3, 4),))


@equal
def gf_is_none():

    def f(x):
        y = x * 2
        return x + 1 if y.grad_fn is None else x - 1

    return (f, (leaf(3, 4),))


@refused("autograd-graph")
def gf_class():

    def f(x):
        y = x * 2
        return x + 1 if y.grad_fn.__class__.__name__ == "MulBackward0" else x - 1

    return (f, (leaf(3, 4),))


@refused("autograd-graph")
def gf_isinstance():

    def f(x):
        y = x * 2
        return x + 1 if isinstance(y.grad_fn, torch.autograd.graph.Node) else x - 1

    return (f, (leaf(3, 4),))


@equal
def isleaf_result():

    def f(x):
        y = x * 2
        return x + 1 if y.is_leaf else x - 1

    return (f, (leaf(3, 4),))


@equal
def minus_zero_copysign():

    class M(Base):
        def forward(s, x):
            return torch.copysign(x, torch.full((3,), s.z))

    return (M(z=-0.0), (t(3),))


@equal
def minus_zero_py():

    class M(Base):
        def forward(s, x):
            return x + math.copysign(1, s.z)

    return (M(z=-0.0), (t(3),))


@equal
def zero_then_minus_arg():

    def f(x, z):
        return x + math.copysign(1.0, z)

    return Case(f, (t(3), 0.0), also=[((t(3), -0.0), {})])


@equal
def zero_then_minus_arg_t():

    def f(x, z):
        return torch.copysign(x, torch.full((3,), z))

    return Case(f, (t(3), 0.0), also=[((t(3), -0.0), {})])


@equal
def one_true_arg():

    def f(x, n):
        return x + 1 if n is True else x + n * 2

    return Case(f, (t(3), True), also=[((t(3), 1), {}), ((t(3), 1.0), {})])


@equal
def one_float_arg():

    def f(x, n):
        return x.to(torch.int64) * n

    return Case(f, (t(3), 1), also=[((t(3), 1.0), {}), ((t(3), True), {})])


@equal
def dict_key_true():

    def f(x, d):
        return x * d[1]

    return Case(f, (t(3), {True: 2}), also=[((t(3), {1: 2}), {}), ((t(3), {1.0: 2}), {})])


@equal
def dict_key_type():

    def f(x, d):
        return x * 2 if type(next(iter(d))) is bool else x * 3

    return Case(f, (t(3), {True: t(3)}), also=[((t(3), {1: t(3)}), {}), ((t(3), {1.0: t(3)}), {})])


@equal
def dict_minus_zero_key():

    def f(x, d):
        return x * math.copysign(1, next(iter(d)))

    return Case(f, (t(3), {0.0: t(3)}), also=[((t(3), {-0.0: t(3)}), {})])


@equal
def nan_arg():

    def f(x, z):
        return x + 1 if z == z else x - 1

    return Case(f, (t(3), float("nan")), also=[((t(3), 1.0), {})])


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
