"""nonlocal, globals, locals, exec, sets, large integers, floats, complex numbers."""

# ruff: noqa: B018, B023, B033, E741, F821, RUF015

from __future__ import annotations

import math

import torch
from torch.export import Dim

from tests.export.probe import Case, equal, refused, t


def dyn(f, *args, also=(), **kw):
    return Case(
        f,
        args,
        dynamic_shapes=({0: Dim('n', min=2, max=64)},) + (None,) * (len(args) - 1),
        also=[((a, *args[1:]), {}) for a in also],
        **kw,
    )


G = 3


@equal
def nonlocal_counter():
    def f(x):
        n = 0
        def inc(k=1):
            nonlocal n
            n += k
            return n

        return x * inc() + inc(3) * n

    return (f, (t(3),))


@refused('python-state')
def nonlocal_outside():
    n = 0
    def inc():
        nonlocal n
        n += 1
        return n

    def f(x):
        return x * inc()

    return (f, (t(3),))


@equal
def globals_read():
    def f(x):
        return (x * globals()['G'] * len(vars()), sorted(locals()))

    return (f, (t(3),))


@equal
def locals_modified():
    def f(x):
        a = 1
        l = locals()
        l['a'] = 5
        return (x * a, l['a'], locals() is l, sorted(locals()))

    return (f, (t(3),))


@equal
def exec_in_forward():
    def f(x):
        ns = {'x': x}
        exec('y = x * 3\ndef g(z): return z + 1', ns)
        return (ns['g'](ns['y']), eval('x + 2', {'x': x}))

    return (f, (t(3),))


@equal
def unbound_local():
    def f(x):
        a = 1
        del a
        try:
            a
        except UnboundLocalError as e:
            return (x, str(e))

    return (f, (t(3),))


@equal
def loop_closures():
    def f(x):
        fs = [lambda v: v * i for i in range(3)]
        gs = [lambda v, i=i: v * i for i in range(3)]
        return (fs[0](x) + gs[1](x), [h.__closure__[0].cell_contents for h in fs])

    return (f, (t(3),))


@refused('unsupported-value')
def set_order():
    def f(x):
        return (
            x * list({3, 1, 2})[0],
            list({'a', 'b', 'c'}) == list({'a', 'b', 'c'}),
            sorted({'b', 'a'}),
            {1, True, 1.0},
        )

    return (f, (t(3),))


@equal
def set_of_str_order_used():
    def f(x):
        n = 0
        for i, s in enumerate({'alpha', 'beta', 'gamma'}):
            n += i * len(s)
        return x * n

    return (f, (t(3),))


@equal
def float_formats():
    def f(x):
        return (
            x,
            repr(0.1 + 0.2),
            f"{1e+20:g} {1 / 3:.3%} {-0.0:+} {float('nan')} {1e-07}",
            0.1.hex(),
            float.fromhex('0x1p-2'),
            2.5.as_integer_ratio(),
            round(2.5),
            round(-0.5),
            round(2.675, 2),
            str(1e+16),
            1e+308 * 10,
            divmod(-7.5, 2),
        )

    return (f, (t(3),))


@equal
def big_ints():
    def f(x):
        return (
            x * (2 ** 100 % 1000003),
            2 ** 64,
            -2 ** 63,
            (1 << 70).bit_length(),
            int('9' * 30),
            7 ** (-1),
            pow(3, -1, 7),
            -8 % 3,
            -7 // 2,
            -7 % -3,
            divmod(-7, 3),
            5 .to_bytes(2, 'big'),
            int.from_bytes(b'\x01\x02', 'little'),
        )

    return (f, (t(3),))


@equal
def big_size_arithmetic():
    def f(x):
        n = x.shape[0]
        return (
            x,
            n * 2 ** 40,
            n ** 20,
            n * 2 ** 62 % 1000,
            n << 3,
            n >> 1,
            n & 1,
            n | 8,
            n ^ 3,
            ~n,
            -n // 3,
            -n % 3,
            n // -3,
            n % -3,
            divmod(-n, 4),
            n ** 0.5,
            n / 3,
            round(n / 3),
            int(n * 0.7),
            math.ceil(n / 4),
            math.sqrt(n),
            abs(-n),
            n // 2.0,
            n % 2.5,
        )

    return dyn(f, t(6), also=[t(5), t(9), t(2)])


@equal
def big_constant_out():
    def f(x):
        return (torch.full((2,), 2 ** 62) * x.shape[0], x + 2.0 ** 70)

    return dyn(f, t(6), also=[t(5)])


@equal
def complex_numbers():
    def f(x):
        return (
            x * (1 + 2j),
            (3 + 4j) ** 2,
            abs(3 + 4j),
            complex('1+2j'),
            1j.conjugate(),
            torch.tensor(1 + 1j) * x,
            x.to(torch.complex64) / 1j,
            complex(x.shape[0], 1),
        )

    return (f, (t(3),))


@refused('constraint-violation')
def bool_arithmetic_sizes():
    def f(x):
        n = x.shape[0]
        a = (n > 4) + (n > 2) * 10
        b = (n > 3) | (n > 100)
        c = (n == 6) & True
        d = not n > 5
        e = [10, 20][n > 5]
        g = sum([n > 1, n > 2, n > 3])
        h = (n > 3) ^ True
        return (
            x * a,
            b,
            c,
            d,
            e,
            g,
            h,
            int(n > 3),
            f'{n > 3}',
            {True: 1, False: 2}[n > 4],
            (n > 3) is True,
            min(n, 4),
            max(n, 7, 5),
            sorted([n, 3, 7]),
            n in (5, 6),
            any(n == k for k in (2, 9)),
        )

    return dyn(f, t(6), also=[t(5), t(9), t(2), t(3)])

