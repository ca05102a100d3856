"""Types, texts and arithmetic of symbolic sizes; attributes of modules; context managers."""

# ruff: noqa: B007, C405, RUF021, UP031

from __future__ import annotations

import contextlib
import functools
import math
import numbers
import operator
import typing

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from tests.export.probe import Case, equal, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



def dyn(f, *args, also=(), **kw):
    return Case(
        f,
        args,
        dynamic_shapes=({0: Dim('n', min=2, max=64)},) + (None,) * (len(args) - 1),
        also=[((a, *args[1:]), {}) for a in also],
        **kw,
    )


def leaf(*s):
    return t(*s, requires_grad=True)


@equal
def debug_internal_overlap():
    def f(x):
        return x * (1 + torch._debug_has_internal_overlap(x.expand(2, 3)))

    return (f, (t(1, 3),))


@equal
def tensor_is_shared_pinned():
    def f(x):
        return (x * (1 + x.is_shared()), x.is_pinned())

    return (f, (t(3),))


@refused('process-state')
def fake_mode_seen():
    from torch._subclasses.fake_tensor import FakeTensor
    def f(x):
        return x * (1 + isinstance(x, FakeTensor)) * (1 + (torch._guards.detect_fake_mode() is not None))

    return (f, (t(3),))


@refused('constraint-violation')
def symint_type_seen():
    def f(x):
        n = x.shape[0]
        return (
            x * isinstance(n, int),
            type(n) is int,
            isinstance(n, torch.SymInt),
            type(n).__name__,
            n.__class__ is int,
            {int: 3}[type(n)],
            isinstance(n, (float, int)),
            hasattr(n, 'node'),
            n.bit_length() > 0,
            issubclass(type(n), numbers.Integral),
            isinstance(n, numbers.Number),
            n.__index__() == n,
            n.real,
            n.numerator,
            n.conjugate(),
            n.is_integer() if hasattr(n, 'is_integer') else 0,
        )

    return dyn(f, t(6), also=[t(5)])


@refused('unsupported-value')
def symint_in_containers():
    def f(x):
        n = x.shape[0]
        return (
            x * [1, 2, n].index(n),
            {n: 1}[n],
            n in {6: 1},
            (n, 1) == (6, 1),
            len(range(n)),
            list(range(n))[-1],
            divmod(n, 4),
            sum(range(n)),
            bytes(n)[:1],
            'x' * n,
            max([n, 3]),
            min(n, n + 1),
            all([n]),
            sorted([n, 1]),
            [n] * 2,
            str(n),
            int(n),
            float(n),
            round(n, -1),
            hash(n) == hash(6),
            n.to_bytes(2, 'big'),
            bool(n),
            abs(n),
            pow(n, 2, 5),
            math.gcd(n, 4),
            math.comb(n, 2),
            math.log2(n),
            math.isqrt(n),
            '%d' % n,
            f'{n:b}',
            slice(n),
            set([n, n]),
            functools.reduce(operator.mul, [n, n]),
        )

    return Case(f, (t(6),))


@refused('constraint-violation')
def symint_dict_of_cache():
    class M(Base):
        def forward(self, x):
            n = x.shape[0]
            if n not in self.cache:
                self.cache[n] = torch.arange(n).float()
            return x + self.cache[n]


    m = M()
    m.cache = {}
    return dyn(m, t(6), also=[t(5), t(6)])


@equal
def symint_attribute_written():
    class M(Base):
        def forward(self, x):
            self.last = x.shape[0]
            return x * self.last


    return dyn(M(last=0), t(6), also=[t(5)])


@refused('constraint-violation')
def size_negative_modulo():
    def f(x):
        n = x.shape[0]
        return (
            x[-(n // 2):],
            x[:-n % 4 or None],
            x.roll(-n % 3),
            torch.zeros(-n % 4 + 1),
            torch.zeros(n - n % -4),
            torch.zeros(-(-n // 4)),
            x.reshape(-1)[:(1 - n) // -2],
        )

    return dyn(f, t(6), also=[t(5), t(7), t(8), t(9)])


@refused('constraint-violation')
def size_float_rounding():
    def f(x):
        n = x.shape[0]
        return (
            torch.zeros(int(n * 0.3)),
            torch.zeros(math.ceil(n * 0.7)),
            torch.zeros(round(n * 0.5)),
            torch.zeros(int(math.sqrt(n))),
            torch.zeros(int(n ** 0.5)),
            torch.zeros(math.floor(n / 3)),
            torch.zeros(int(-n / 3) + 9),
            torch.zeros(math.trunc(n * 1.5)),
            x * (n * 0.1),
            x / (n / 3),
        )

    return dyn(f, t(6), also=[t(5), t(7), t(8), t(9), t(15), t(25)])


@equal
def size_bitwise():
    def f(x):
        n = x.shape[0]
        return (
            x * (n & 3),
            x * (n | 8),
            x * (n ^ 5),
            x * (n << 2),
            x * (n >> 1),
            x * ~n,
            torch.zeros(n & -n),
            x * (n & 1 == 0),
        )

    return dyn(f, t(6), also=[t(5), t(7), t(8), t(9)])


@refused('constraint-violation')
def size_power_of_two():
    def f(x):
        n = x.shape[0]
        p = 1 << (n - 1).bit_length()
        return F.pad(x, (0, p - n))

    return dyn(f, t(6), also=[t(5), t(7), t(8), t(9)])


@refused('constraint-violation')
def size_while_loop():
    def f(x):
        while x.shape[0] > 2:
            x = x[::2]
        return x

    return dyn(f, t(8), also=[t(5), t(7), t(9)])


@refused('constraint-violation')
def size_min_max_chain():
    def f(x):
        n = x.shape[0]
        k = max(1, min(n // 2, 5))
        return (x.topk(k)[0], x[:k], torch.zeros(min(n, 10)), torch.zeros(sorted([n, 4, 9])[1]))

    return dyn(f, t(8), also=[t(5), t(3), t(9), t(20)])


@equal
def size_ternary_in_index():
    def f(x):
        return (x[0 if x.shape[0] < 7 else 1], x[(x.shape[0] > 7) * 2])

    return dyn(f, t(6), also=[t(5), t(9)])


@refused('constraint-violation')
def size_bool_and_or():
    def f(x):
        n = x.shape[0]
        return (x * (n > 3 and n or 2), x * (n % 2 or 7), x * (not n % 3))

    return dyn(f, t(6), also=[t(5), t(9), t(3)])


@equal
def size_equal_two_inputs():
    def f(x, y):
        return x + y if x.shape == y.shape else x.sum() + y

    return Case(
        f,
        (t(4), t(4)),
        dynamic_shapes=({0: Dim('a', min=2)}, {0: Dim('b', min=2)}),
        also=[((t(5), t(5)), {}), ((t(5), t(3)), {})],
    )


@equal
def size_broadcast_one():
    def f(x, y):
        return x + y

    return Case(
        f,
        (t(4), t(1)),
        dynamic_shapes=({0: Dim('a', min=2)}, None),
        also=[((t(5), t(1)), {}), ((t(5), t(5)), {})],
    )


@equal
def size_zero_and_one():
    def f(x):
        return (x.sum(0), x.mean(), x[:1], x.squeeze(0).shape, torch.cat([x, x]), x.view(-1))

    return Case(
        f,
        (t(4, 2),),
        dynamic_shapes=({0: Dim('n', min=0, max=10)},),
        also=[((t(1, 2),), {}), ((t(0, 2),), {})],
    )


@equal
def module_children_change():
    class M(Base):
        def forward(self, x):
            self.sub = nn.Identity() if not hasattr(self, 'sub') else self.sub
            return self.sub(x)


    return (M(), (t(3),))


@equal
def module_setattr_property():
    class M(Base):
        @property
        def scale(self):
            return self._s

        @scale.setter
        def scale(self, v):
            self._s = v + 1

        def forward(self, x):
            self.scale = 3
            return x * self.scale


    return (M(_s=0), (t(3),))


@refused('python-state')
def module_slots_and_classvar():
    class M(Base):
        count: typing.ClassVar[int] = 0
        def forward(self, x):
            type(self).count += 1
            return x * type(self).count


    return (M(), (t(3),))


@equal
def generator_pipeline():
    def gen(xs):
        for x in xs:
            y = (yield (x * 2))
            if y is not None:
                yield y

    def f(x):
        g = gen([x, x + 1])
        a = next(g)
        b = g.send(a + 1)
        c = next(g)
        return (a, b, c, list(g))

    return (f, (t(3),))


@equal
def contextmanager_generator_state():
    st = {'d': 0}
    @contextlib.contextmanager
    def deeper():
        st['d'] += 1
        try:
            yield st['d']
        finally:
            st['d'] -= 1

    def f(x):
        with deeper() as a, deeper() as b:
            return x * a * b * 10 + st['d']

    return (f, (t(3),))


@equal
def exitstack_dynamic():
    def f(x):
        with contextlib.ExitStack() as s:
            for i in range(3):
                s.enter_context(torch.no_grad())
            y = x * 2
        return (y, y.requires_grad)

    return (f, (leaf(3),))

