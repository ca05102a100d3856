"""singledispatch, partialmethod, dataclasses, enums, named tuples, operators of the program's classes."""

# ruff: noqa: E742, RUF059, SIM300

from __future__ import annotations

import dataclasses
import enum
import functools
import math
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Any, NamedTuple, TypedDict

import torch

from tests.export.probe import Case, equal, refused, t


class NT(NamedTuple):
    a: Any
    b: int = 2
    def tot(self):
        return self.a * self.b



class NT2(NT):
    def tot(self):
        return super().tot() * 10



@equal
def singledispatch():
    @functools.singledispatch
    def g(v):
        return 1

    @g.register
    def _(v: int):
        return 2

    @g.register(torch.Tensor)
    def _(v):
        return v * 3

    def f(x):
        return g(x) * g(2) * g('s')

    return (f, (t(3),))


@equal
def singledispatchmethod():
    class A:
        @functools.singledispatchmethod
        def m(self, v):
            return 1

        @m.register
        def _(self, v: int):
            return 5


    def f(x):
        return x * A().m(1) * A().m('q')

    return (f, (t(3),))


@refused('python-state')
def singledispatch_register_in_forward():
    @functools.singledispatch
    def g(v):
        return 1

    def f(x):
        g.register(int, lambda v: 9)
        return x * g(2)

    return (f, (t(3),))


@equal
def partialmethod_total_ordering():
    @functools.total_ordering
    class A:
        def __init__(s, n):
            s.n = n

        def __eq__(s, o):
            return s.n == o.n

        def __lt__(s, o):
            return s.n < o.n

        def sc(s, k, x):
            return x * k * s.n

        dbl = functools.partialmethod(sc, 2)

    def f(x):
        return A(3).dbl(x) * (A(1) <= A(2)) * (A(3) >= A(2))

    return (f, (t(3),))


@equal
def dataclass_slots_frozen():
    @dataclass(slots=True, frozen=True, kw_only=True)
    class C:
        a: int
        b: list = field(default_factory=list)

    def f(x):
        c = C(a=2)
        c.b.append(3)
        d = dataclasses.replace(c, a=5)
        try:
            c.a = 3
            n = 0
        except dataclasses.FrozenInstanceError:
            n = 7
        return (x * d.a * len(d.b) + n, repr(c), hash((c.a,)) == hash((2,)))

    return (f, (t(3),))


@equal
def dataclass_initvar():
    @dataclass
    class C:
        a: int
        k: InitVar[int] = 3
        c: int = field(init=False, default=0)
        _: KW_ONLY = None
        z: int = 1
        def __post_init__(self, k):
            self.c = self.a * k


    def f(x):
        c = C(2, 5, z=4)
        return (x * c.c * c.z, dataclasses.asdict(c), dataclasses.astuple(c))

    return (f, (t(3),))


@equal
def dataclass_order_eq_tensor():
    @dataclass
    class C:
        w: torch.Tensor
        n: int = 0

    def f(x):
        c = C(x, 1)
        return (dataclasses.replace(c, w=c.w * 2).w, dataclasses.asdict(C(x * 3))['w'])

    return (f, (t(3),))


@equal
def dataclass_input_mutated():
    @dataclass
    class C:
        w: torch.Tensor
        n: int = 0

    torch.export.register_dataclass(C)
    def f(c):
        return C(c.w * 2, c.n + 1)

    return (f, (C(t(3), 2),))


@equal
def enum_flag_ops():
    class P(enum.Flag):
        R = enum.auto()
        W = enum.auto()
        X = enum.auto()

    class C(enum.Enum):
        A = 1
        B = 2
        ALIAS = 1
        @classmethod
        def _missing_(cls, v):
            return cls.B


    def f(x):
        p = P.R | P.X
        return (
            x * p.value * len(C) * C(99).value,
            str(p),
            repr(C.ALIAS),
            C['A'].name,
            [m.name for m in P if m in p],
            P(5) is p,
            ~p == P.W,
        )

    return (f, (t(3),))


@equal
def int_enum_arg():
    class M(enum.IntEnum):
        A = 0
        B = 1

    def f(x, m):
        return x.sum(m) if m is M.B else x * 2

    return Case(f, (t(3, 3), M.B), also=[((t(3, 3), M.A), {})])


@equal
def str_enum_arg():
    class M(enum.StrEnum):
        A = enum.auto()
        B = enum.auto()

    def f(x, m):
        match m:
            case M.A:
                return x
            case M.B:
                return x * 2

    return Case(f, (t(3, 3), M.B), also=[((t(3, 3), M.A), {})])


@equal
def enum_made_in_forward():
    def f(x):
        E = enum.Enum('E', 'A B C')
        return (x * E.C.value, len(E.__members__))

    return (f, (t(3),))


@equal
def namedtuple_subclass_in_out():
    def f(n):
        return (n.tot(), n._replace(b=5), NT2(*n))

    return (f, (NT2(t(3), 3),))


@equal
def namedtuple_subclass_plain():
    def f(x):
        n = NT2(x, 3)
        a, *b = n
        return (n.tot() + len(b), n._asdict(), n._fields)

    return (f, (t(3),))


@equal
def typed_dict():
    class D(TypedDict, total=False):
        a: int

    def f(x):
        d: D = {'a': 3}
        return (x * D(a=2)['a'] * d['a'], D.__total__, sorted(D.__annotations__))

    return (f, (t(3),))


@equal
def operator_overloads_mixed():
    class S:
        def __init__(s, w):
            s.w = w

        def __radd__(s, o):
            return S(o + s.w * 2)

        def __rmul__(s, o):
            return 10

        def __rmatmul__(s, o):
            return o * 5

        def __array_priority__(s):
            return 1


    def f(x):
        s = S(3)
        return ((1 + s).w * x, 2 * s, x * 2)

    return (f, (t(3),))


@equal
def tensor_plus_user_radd():
    class S:
        def __radd__(s, o):
            return o * 7

        def __rsub__(s, o):
            return o * 8

        def __rpow__(s, o):
            return o * 9

        def __req__(s, o):
            return 1


    def f(x):
        return (x + S(), x - S(), x ** S())

    return (f, (t(3),))


@equal
def tensor_eq_user():
    class S:
        def __eq__(s, o):
            return 'mine'

        def __lt__(s, o):
            return 'lt'

        __hash__ = None

    def f(x):
        return (x * 2, S() == 3, 3 > S())

    return (f, (t(3),))


@equal
def user_index_bool_float():
    class I:
        def __index__(s):
            return 2

        def __bool__(s):
            return False

        def __float__(s):
            return 2.5

        def __len__(s):
            return 4

        def __int__(s):
            return 9


    def f(x):
        return (
            x[I()],
            x * float(I()),
            x.sum() * (not I()),
            range(10)[I()],
            'abc'[I()],
            torch.ones(I()),
            x * int(I()),
            math.floor(2.7),
        )

    return (f, (t(3),))


@equal
def torch_function_object():
    class W:
        def __init__(s, w):
            s.w = w

        @classmethod
        def __torch_function__(cls, fn, types, args=(), kwargs=None):
            args = [a.w if isinstance(a, W) else a for a in args]
            return W(fn(*args, **kwargs or {}))


    def f(x):
        return torch.add(W(x), 2).w + torch.cat([x, x]).sum()

    return (f, (t(3),))

