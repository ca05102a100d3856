"""What a program reads of classes, of nodes of the autograd graph, and of numbers"""


from __future__ import annotations

import math
import sys
import typing

import torch
from torch import nn

from tests.export.probe import Case, equal, refused, sound, t


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
def kinds_of_functions():
    """inspect looks at the flags of a code object, which is a trampoline's while C code may call the function."""
    import asyncio
    import functools
    import inspect

    def f(x):
        def generator():
            yield x

        async def coroutine():
            return x

        async def items():
            yield x

        list(map(callable, (generator, coroutine)))
        kinds = inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction
        makers = generator, coroutine, items, functools.partial(generator), f
        answers = [kind(made) for kind in (*kinds, asyncio.iscoroutinefunction) for made in makers]
        return x, answers, sorted(inspect.getclosurevars(generator).nonlocals)

    return f, (t(3),)


@equal
def frames_of_generators():
    import inspect

    def f(x):
        def generator():
            k = 3
            yield k
            yield k + 1

        async def coroutine():
            return x

        numbers, awaited = generator(), coroutine()
        before = inspect.getgeneratorlocals(numbers)
        next(numbers)
        named = numbers.gi_code.co_name, awaited.cr_code.co_name, numbers.gi_frame.f_code.co_name
        inside = sorted(numbers.gi_frame.f_locals), dict(inspect.getgeneratorlocals(numbers)), len(before)
        awaited.close()
        list(numbers)
        return x, named, inside, numbers.gi_frame is None, awaited.cr_frame is None

    return f, (t(3),)


@equal
def variables_set_by_their_frame():
    def f(x):
        y = x
        seen = sys._getframe().f_locals  # from Python 3.13 on what is written there is written to the variables
        seen["y"], seen["z"] = x + 1, 3
        return x, y, sorted(seen), seen["z"]

    return f, (t(3),)


@sound("branch-unsupported")
def a_callers_variable_set_on_one_side():
    def set_(x, variables):
        if x.sum() > 0:
            variables["y"] = 2

    def f(x):
        y = 1
        set_(x, sys._getframe().f_locals)
        return x * y

    return Case(f, (torch.ones(2),), also=[((-torch.ones(2),), {})])


@equal
def which_module_makes_a_type():
    """Functions of typing write down which module calls them: the program's, not one of the interpreter's."""

    def f(x):
        made = (
            *(typing.TypeVar("T"), typing.ParamSpec("P"), typing.TypeVarTuple("Ts"), typing.NewType("N", int)),
            *(typing.NamedTuple("NT", [("a", int)]), typing.TypedDict("D", {"a": int})),
        )
        return x, [each.__module__ for each in made]

    return f, (t(3),)
